/** In a prompt: the upstream sends its stream one record at a time. */
export const PACE_MARKER = '[[paced]]'
export const PACE_MS = 2

const LOREM = 'Lorem ipsum dolor sit amet, consectetur. '

/** So many bytes of text, in which the ten rules that match find what they look for. */
export function writePrompt(bytes: number, start = ''): string {
  return start + LOREM.repeat(Math.ceil(bytes / LOREM.length)).slice(0, bytes)
}
