import type { RecordedPrompt, RequestRecord } from './schemas.ts'

type SentRecord = Pick<RequestRecord, 'endpoint' | 'requested_model' | 'stream' | 'session_id'>

/** Recorded requests have the form of chat completions, whatever their endpoint was. */
const CHAT = '/v1/chat/completions'

/** Returns the command that sends a request again. A prompt that is not recorded is a blank to fill in. */
export function toCurl(record: SentRecord, request: RecordedPrompt['request'], gateway: URL): string {
  const { endpoint, session_id } = record
  const takesInput = /\/(embeddings|moderations)$/.test(endpoint)
  const body = takesInput ? toInputBody(record, request) : (request ?? toBlank(record))
  const headers = [
    '"authorization: Bearer $SIGNALBOX_KEY"',
    "'content-type: application/json'",
    ...(session_id === null ? [] : [quote(`x-session-id: ${session_id}`)]),
  ]
  return [
    `curl ${quote(new URL((takesInput ? endpoint : CHAT).slice(1), gateway).href)}`,
    ...headers.map((header) => `-H ${header}`),
    `-d ${quote(JSON.stringify(body, null, 2))}`,
  ].join(' \\\n  ')
}

function toBlank({ requested_model, stream }: SentRecord): object {
  return {
    model: requested_model ?? 'auto',
    messages: [{ role: 'user', content: '…' }],
    ...(stream && { stream }),
  }
}

/** Each text that was embedded or judged is a message of its own. */
function toInputBody({ requested_model }: SentRecord, request: RecordedPrompt['request']): object {
  const messages = (request?.messages ?? [{ content: '…' }]) as readonly { readonly content: unknown }[]
  return { ...(requested_model && { model: requested_model }), input: messages.map(({ content }) => content) }
}

/** Quotes a text for a POSIX shell. */
function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
