/** Returns the parsed JSON text, or undefined if the text is not valid JSON. Never throws. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
