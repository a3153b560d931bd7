/** The last end of a sentence or line, and the last white space, with the text before them. */
const SENTENCE_END = /^[\s\S]*(?:[.!?…][)\]"'”’]*\s|\n|[。！？])/
const WHITE_SPACE = /^[\s\S]*\s/

/**
 * Returns where a text is cut whose end exceeds `holdBackChars`: behind the last sentence, else behind the
 * last word in its last `holdBackChars / 2` characters; else in front of these.
 */
export function findWindowEnd(text: string, holdBackChars: number): number {
  const latest = text.length - Math.floor(holdBackChars / 2)
  const end = text.slice(latest)
  const found = SENTENCE_END.exec(end) ?? WHITE_SPACE.exec(end)
  if (found !== null) return latest + found[0].length
  const isInsidePair = isLowSurrogate(text.charCodeAt(latest))
  return isInsidePair ? latest + 1 : latest
}

export function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}

function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff
}
