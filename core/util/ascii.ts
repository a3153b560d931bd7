/** Whether a text is ASCII, so that its bytes are the same as Latin-1 and as UTF-8. */
export function isAsciiText(text: string): boolean {
  return Buffer.byteLength(text) === text.length
}
