import { EventSourceParserStream } from 'eventsource-parser/stream'
import { ApiError, openResponse, toError } from './api.ts'
import { type ChatDraft, toChatBody } from './chat-draft.ts'

interface ChatPart {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null }
    readonly message?: { readonly content?: string | null }
  }[]
  readonly error?: { readonly message?: string }
}

interface ChatReceiver {
  /** Called once, when the gateway begins to answer. */
  start(requestId: string): void
  /** Called with each part of the text as it arrives. */
  add(text: string): void
}

/** Sends a chat with the session. Resolves when the answer is complete; rejects with an `ApiError`. */
export async function sendChat(draft: ChatDraft, receiver: ChatReceiver, signal: AbortSignal): Promise<void> {
  const response = await openResponse('POST', '/v1/chat/completions', toChatBody(draft), {
    headers: { 'x-response-form': 'openai' },
    signal,
  })
  const requestId = response.headers.get('x-request-id') ?? ''
  receiver.start(requestId)
  try {
    if (draft.isStreamed) await readStream(response, receiver)
    else receiver.add(textOf(await response.json()))
  } catch (error) {
    if (signal.aborted || error instanceof ApiError) throw error
    throw new ApiError(0, `The answer broke off: ${toError(error).message}`, {}, requestId)
  }
}

async function readStream(response: Response, receiver: ChatReceiver): Promise<void> {
  const requestId = response.headers.get('x-request-id') ?? ''
  const events = response.body
    ?.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>)
    .pipeThrough(new EventSourceParserStream())
    .getReader()
  for (;;) {
    const next = await events?.read()
    if (next === undefined || next.done) throw new Error('the stream ended early.')
    if (next.value.data === '[DONE]') return
    const part = JSON.parse(next.value.data) as ChatPart
    if (part.error) throw new ApiError(response.status, part.error.message ?? 'Error', {}, requestId)
    receiver.add(textOf(part))
  }
}

function textOf({ choices = [] }: ChatPart): string {
  return choices.map(({ delta, message }) => (delta ?? message)?.content ?? '').join('')
}
