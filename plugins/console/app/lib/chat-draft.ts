/** What the playground sends, as the form has it: numbers are texts, and empty if they are not sent. */
export interface ChatDraft {
  readonly model: string
  readonly system: string
  readonly prompt: string
  readonly temperature: string
  readonly maxTokens: string
  readonly isStreamed: boolean
}

export const EMPTY_CHAT: ChatDraft = {
  model: 'auto:balance',
  system: '',
  prompt: '',
  temperature: '',
  maxTokens: '',
  isStreamed: true,
}

/** The parameters of a draft that all APIs call the same. */
export function toParameters({ temperature, maxTokens, isStreamed }: ChatDraft) {
  return {
    ...(temperature !== '' && { temperature: Number(temperature) }),
    ...(maxTokens !== '' && { max_tokens: Number(maxTokens) }),
    ...(isStreamed && { stream: true }),
  }
}

/** The body of a chat completion. */
export function toChatBody(draft: ChatDraft) {
  const { model, system, prompt } = draft
  const messages = [
    ...(system === '' ? [] : [{ role: 'system', content: system }]),
    { role: 'user', content: prompt },
  ]
  return { model, messages, ...toParameters(draft) }
}
