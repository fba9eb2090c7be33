import { linkedFiles } from './pages.js';

/** A page for each file and folder of the repository that the documentation links to. */
export default {
  paths: () => linkedFiles().map(([file, content]) => ({ params: { file }, content })),
};
