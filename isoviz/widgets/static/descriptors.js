import{a as o,b as r,c as m,d as p,e as t}from"./of-descriptors-handshake.js";import"./core.js";export{r as Descriptors,p as descriptorWords,t as descriptorsSaid,m as piecesOf,o as useRequests};
