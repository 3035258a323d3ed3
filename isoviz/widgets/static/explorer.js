import{jb as a,kb as b}from"./core.js";export{b as default,a as drawPage};
