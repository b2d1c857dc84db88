// Which colour a name has: a kind of jobs, a user, a policy. One rule for the page, reports and replays, the same as
// src/report/name_colours.cc. It depends on the names alone, not on the order in which they are drawn.
import {KINDS} from './draw.js';

/** FNV-1a over the bytes of UTF-8. @param {string} name */
export function hashOf(name) {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193) >>> 0;
  return hash;
}

/**
 * Up to KINDS names have different colours: each takes the one of its hash, or the next that is free, in the order of
 * the hashes. Where there are more names, each has the colour of its hash.
 * @param {Iterable<string>} names @returns {Map<string, number>}
 */
export function coloursOf(names) {
  const list = [...new Set(names)].map(name => ({name, hash: hashOf(name)})), map = new Map(), taken = new Set();
  list.sort((a, b) => a.hash - b.hash || (a.name < b.name ? -1 : 1));
  for (const {name, hash} of list) {
    let colour = hash % KINDS;
    while (list.length <= KINDS && taken.has(colour)) colour = (colour + 1) % KINDS;
    taken.add(colour);
    map.set(name, colour);
  }
  return map;
}
