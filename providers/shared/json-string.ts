const QUOTE = 0x22
const BACKSLASH = 0x5c
const SPACE = 0x20
const LETTER_U = 0x75

/**
 * Returns where the content of a JSON string ends that begins at `start`: at the quotation mark, or at a
 * character or an escape sequence that a JSON string cannot contain.
 */
export function endOfString(text: string, start: number): number {
  let index = start
  while (index < text.length) {
    const code = text.charCodeAt(index)
    if (code === QUOTE || code < SPACE) return index
    if (code !== BACKSLASH) index++
    else {
      const end = endOfEscape(text, index)
      if (end === index) return index
      index = end
    }
  }
  return index
}

/** Returns the position after an escape sequence; that of its backslash if JSON does not know it. */
function endOfEscape(text: string, start: number): number {
  const code = text.charCodeAt(start + 1)
  if (code !== LETTER_U) return SHORT_ESCAPES.has(code) ? start + 2 : start
  return HEX_DIGITS.test(text.slice(start + 2, start + 6)) ? start + 6 : start
}

const SHORT_ESCAPES = new Set(Array.from('"\\/bfnrt', (character) => character.charCodeAt(0)))
const HEX_DIGITS = /^[0-9a-fA-F]{4}$/

/**
 * Replaces lone surrogates in JSON that `JSON.stringify` wrote, which escapes no other characters as
 * `\ud…`. Clients that cut a text within an emoji send them, and providers reject the whole body.
 */
export function replaceLoneSurrogates(json: string): string {
  return json.includes('\\ud') ? json.replaceAll(LONE_SURROGATE, '$1\ufffd') : json
}

/** The escape of a surrogate, behind an even number of backslashes. */
const LONE_SURROGATE = /((?<!\\)(?:\\\\)*)\\ud[89a-f][0-9a-f]{2}/g
