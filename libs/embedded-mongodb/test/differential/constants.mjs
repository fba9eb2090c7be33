/** Whether an expression depends on no document; operators over constants do not count, since they are refused. */
function isConstant(expression) {
  return !/"\$(?!literal")/.test(JSON.stringify(expression));
}

/** Operands without constants side by side, which the embedded server refuses. */
export function apart(operands) {
  return operands.map((each, n) => (n > 0 && isConstant(operands[n - 1]) ? variable(each) : each));
}

/** An expression that depends on the document. */
export function variable(expression) {
  return isConstant(expression) ? '$_id' : expression;
}
