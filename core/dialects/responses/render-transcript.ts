import type { ContentPart, Message, ToolCall } from '../../contract/index.ts'

/** Renders messages as text, each behind its role. Images and files are only mentioned. */
export function renderTranscript(messages: readonly Message[]): string {
  return messages.map(renderMessage).join('\n\n')
}

function renderMessage({ role, content, tool_calls }: Message): string {
  const text = typeof content === 'string' ? content : (content ?? []).map(renderPart).join('\n')
  const lines = [...(text === '' ? [] : [text]), ...(tool_calls ?? []).map(renderCall)]
  return `[${role === 'tool' ? 'result of a tool' : role}]\n${lines.join('\n')}`
}

function renderPart(part: ContentPart): string {
  if (typeof part.text === 'string') return part.text
  if (typeof part.refusal === 'string') return part.refusal
  return `(${part.type})`
}

function renderCall({ function: { name, arguments: json } }: ToolCall): string {
  return `(calls ${name} with ${json})`
}
