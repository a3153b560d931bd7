import type { ReplyPart } from '../contract/index.ts'

/** Returns what a model produced in a part: text, reasoning, a refusal, or a part of a tool call. */
export function textOfPart(part: ReplyPart): string {
  switch (part.type) {
    case 'text':
    case 'reasoning':
    case 'refusal':
      return part.text
    case 'tool-start':
      return part.name
    case 'tool-json':
      return part.json
    default:
      return ''
  }
}
