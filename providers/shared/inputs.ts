import { type ChatRequest, type Message, TokenIds } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { Target } from '../../core/contract/provider.ts'

/** Returns the inputs of a request that is not a chat: the contents of its user messages, in order. */
export function inputsOf({ messages }: ChatRequest): readonly (string | TokenIds)[] {
  return messages.filter(({ role }) => role === 'user').map(inputOf)
}

/** The text or token ids of a message. */
export function inputOf({ content }: Message): string | TokenIds {
  if (typeof content === 'string') return content
  const parts = content ?? []
  const tokenIds = parts.find(({ token_ids }) => token_ids instanceof TokenIds)?.token_ids
  return tokenIds instanceof TokenIds ? tokenIds : parts.map(({ text = '' }) => text).join('\n')
}

/** Returns the inputs of a request for a provider that reads texts only. Throws 400 for token ids. */
export function textInputsOf(request: ChatRequest, { model }: Target): readonly string[] {
  return inputsOf(request).map((input) => {
    if (typeof input === 'string') return input
    const message = `${model} does not support token ids. Send the input as text.`
    throw new GatewayError('unsupported_parameter', message, { param: 'input' })
  })
}

/**
 * Returns the length of the vectors to ask a provider for; undefined for the model's own. Models that have
 * one length only reject the parameter.
 */
export function dimensionsToSend({ dimensions }: ChatRequest, { entry }: Target): number | undefined {
  if (typeof dimensions !== 'number' || dimensions === entry?.dimensions?.default) return undefined
  return dimensions
}
