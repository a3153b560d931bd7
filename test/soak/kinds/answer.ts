import type { Loose } from '../client.ts'
import { must, mustEqual } from '../expect.ts'
import type { Said } from '../speak.ts'

/** Returns the sandbox's reply of a model to a text. */
export const sandboxText = (heard: string, model: string) =>
  `You said: "${heard}". This is the sandbox, answering as ${model}.`

/** The metadata of a response, in any format. */
export interface Telling {
  readonly text: string
  readonly model: string
  readonly provider: string
  readonly mode: string
  readonly requestId: string
  readonly signalbox: Loose
}

/**
 * Checks that the response belongs to the prompt: no text of others, nothing lost, and routing and warnings
 * as the rules require.
 */
export function mustAnswer(telling: Telling, said: Said, asked: string, requestId: string): void {
  const { text, model, provider, mode, signalbox } = telling
  mustEqual(text, sandboxText(said.heard, model), `the text of ${requestId}`)
  mustEqual(telling.requestId, requestId, 'x_request_id')
  must(provider !== '' && model !== '', () => `${requestId} tells no provider or model`)
  const pinned = said.model ?? (said.mode === undefined && !asked.startsWith('auto') ? asked : undefined)
  if (pinned !== undefined) mustEqual(model, pinned.replace(/^[a-z-]+:/, ''), `the model of ${requestId}`)
  if (said.mode !== undefined) mustEqual(mode, said.mode, `the mode of ${requestId}`)
  const messages = (signalbox.warnings ?? []).map(({ message }: Loose) => message)
  for (const warning of said.warnings)
    must(messages.includes(warning), () => `${requestId} lacks the warning "${warning}", it has ${messages}`)
}
