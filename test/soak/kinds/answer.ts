import type { Loose } from '../client.ts'
import { must, mustEqual } from '../expect.ts'
import type { Said } from '../speak.ts'

/** What the sandbox says as a model to what it heard. */
export const sandboxText = (heard: string, model: string) =>
  `You said: "${heard}". This is the sandbox, answering as ${model}.`

/** What an answer says about itself, whatever its form. */
export interface Telling {
  readonly text: string
  readonly model: string
  readonly provider: string
  readonly mode: string
  readonly requestId: string
  readonly signalbox: Loose
}

/**
 * The answer belongs to what was said: nobody else's text, nothing lost, and routed and warned about as the
 * rules have it.
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
