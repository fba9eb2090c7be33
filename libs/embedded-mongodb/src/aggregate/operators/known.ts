/** Expressions of real MongoDB; those without an implementation here are told apart from misspelled ones. */
export const knownOperators: ReadonlySet<string> = new Set(
  (
    '$accumulator $acos $acosh $arrayToObject $asin $asinh $atan $atan2 $atanh $avg $binarySize $bitAnd $bitNot $bitOr ' +
    '$bitXor $bsonSize $convert $cos $cosh $dateAdd $dateDiff $dateFromParts $dateFromString $dateSubtract $dateToParts ' +
    '$dateToString $dateTrunc $degreesToRadians $exp $firstN $function $getField $indexOfArray $indexOfBytes ' +
    '$indexOfCP $isoDayOfWeek $isoWeek $isoWeekYear $lastN $ln $log $log10 $ltrim $max $maxN $median $meta $min $minN ' +
    '$objectToArray $percentile $pow $radiansToDegrees $rand $range $regexFind $regexFindAll $regexMatch $replaceAll ' +
    '$replaceOne $round $rtrim $sampleRate $setEquals $setIsSubset $sigmoid $sin $sinh $sortArray $sqrt ' +
    '$stdDevPop $stdDevSamp $substr $substrBytes $sum $tan $tanh $toBool $toDate $toDecimal $toDouble $toHashedIndexKey ' +
    '$toInt $toLong $toObjectId $toString $trim $trunc $tsIncrement $tsSecond $unsetField $week $zip $literal $const'
  ).split(' '),
);
