/** Every file of `src/panes/`: the build makes this module (widgets/build.mjs). */
declare module "isoviz:panes";
declare module "isoviz:shapes";
declare module "*.css";
