import type { ChatRequest } from '../contract/index.ts'
import { mapRequestTexts } from './map-texts.ts'

/**
 * Every text in a request that rules look at: each string as it is, and each content that is a list also as its JSON
 * encoding, so that neither form hides what the other shows (decisions: "Input that rules look at").
 */
export function requestTexts(request: ChatRequest): readonly string[] {
  const texts = stringValues(request)
  for (const { content } of request.messages) {
    if (Array.isArray(content)) texts.push(JSON.stringify(content, hideBinary))
  }
  return texts
}

/** The texts of the user's own messages: what the routing condition `contains` looks at. */
export function userTexts(request: ChatRequest): readonly string[] {
  const messages = request.messages.filter(({ role }) => role === 'user')
  return requestTexts(messages.length === request.messages.length ? request : { ...request, messages })
}

/** Each string that goes to the model, once. */
export function stringValues(request: ChatRequest): string[] {
  const strings: string[] = []
  mapRequestTexts(request, (text) => {
    strings.push(text)
    return text
  })
  return strings
}

function hideBinary(name: string, value: unknown): unknown {
  if (typeof value === 'string' && value.startsWith('data:')) return undefined
  return name === 'input_audio' || name === 'file' ? undefined : value
}
