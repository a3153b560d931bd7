import { useState } from 'preact/hooks'
import { GATEWAY, get, orElse } from '../lib/api.ts'
import { toCurl } from '../lib/curl.ts'
import { useAction } from '../lib/data.ts'
import { showHidden } from '../lib/format.ts'
import type { RecordedPrompt, RequestRecord } from '../lib/schemas.ts'
import { isOperator } from '../lib/session.ts'
import { CopyButton } from '../ui/dialogs.tsx'
import { JsonText } from '../ui/json.tsx'
import { Empty, ErrorMessage, Panel } from '../ui/page.tsx'
import { Badge } from '../ui/values.tsx'

/** What was asked and answered, where it is recorded, and how to ask again. */
export function RequestTexts({ record }: { readonly record: RequestRecord }) {
  const [prompt, setPrompt] = useState<RecordedPrompt | null>()
  const path = `/admin/requests/${encodeURIComponent(record.x_request_id)}/prompt`
  const load = useAction(async () => setPrompt(await get<RecordedPrompt>(path).catch(orElse(null))))
  const curl = toCurl(record, prompt?.request ?? null, GATEWAY)
  return (
    <>
      {isOperator() && (
        <Panel title="Prompt and reply">
          {prompt === undefined && (
            <>
              <p class="muted">Reading them is written to the audit trail, with your name.</p>
              <button type="button" onClick={() => load.start()} disabled={load.isBusy}>
                Show what is recorded
              </button>
            </>
          )}
          {load.error && <ErrorMessage error={load.error} />}
          {prompt === null && (
            <Empty>
              Nothing is recorded of this request, or it has expired. The setting{' '}
              <code>ledger.record_prompts</code> records prompts, and <code>ledger.record_replies</code> the
              replies.
            </Empty>
          )}
          {prompt && <RecordedTexts prompt={prompt} />}
        </Panel>
      )}
      <Panel title="As curl" actions={<CopyButton text={curl} />}>
        {prompt?.request == null && <p class="muted">{BLANK_NOTE}</p>}
        {/* The keyboard scrolls it. */}
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: see above */}
        <pre class="curl" tabIndex={0}>
          {showHidden(curl)}
        </pre>
      </Panel>
    </>
  )
}

const BLANK_NOTE = 'Put the prompt in place of the three dots, and a key in SIGNALBOX_KEY.'

/** Why there is no text. */
const OMISSIONS: Readonly<Record<string, string>> = {
  refused: 'it was refused, so its masks are incomplete',
  too_long: 'it is longer than ledger.max_prompt_chars',
  queue_full: 'the ledger was away',
  no_key: 'the process had no RECORD_KEY',
  unmasked: 'it ended before the masks of the request were applied to it',
}

function RecordedTexts({ prompt }: { readonly prompt: RecordedPrompt }) {
  const { request, omission, reply, recorded, left_out, headers } = prompt
  const { messages = [], ...parameters } = (request ?? {}) as { readonly messages?: readonly Message[] }
  return (
    <>
      <p class="muted">
        {recorded === 'masked' ? 'As the firewall left it.' : 'As it was received.'}
        {left_out.length > 0 && ` Not recorded: ${left_out.join(', ')}.`}
      </p>
      {omission !== null && <Empty>The prompt is not recorded: {OMISSIONS[omission] ?? omission}.</Empty>}
      <ol class="messages">
        {messages.map((message, index) => (
          <MessageItem key={index} message={message} />
        ))}
        {reply?.message && <MessageItem message={reply.message as Message} isReply />}
      </ol>
      {reply?.omission && (
        <Empty>The reply is not recorded: {OMISSIONS[reply.omission] ?? reply.omission}.</Empty>
      )}
      {reply === null && <p class="muted">No reply is recorded.</p>}
      {reply?.message && (
        <p class="muted">
          {reply.is_complete ? 'The reply is complete' : 'The reply broke off'}
          {reply.finish_reason && `: ${reply.finish_reason}`}.
          {reply.left_out.length > 0 && ` Not recorded: ${reply.left_out.join(', ')}.`}
        </p>
      )}
      {Object.keys({ ...parameters, ...headers }).length > 0 && (
        <details>
          <summary>Parameters</summary>
          <JsonText
            label="Parameters"
            value={{ ...parameters, ...(Object.keys(headers).length > 0 && { headers }) }}
          />
        </details>
      )}
    </>
  )
}

interface Message {
  readonly role?: string
  readonly content?: unknown
  readonly reasoning_content?: unknown
  readonly refusal?: unknown
  readonly tool_calls?: unknown
}

function MessageItem({
  message,
  isReply = false,
}: {
  readonly message: Message
  readonly isReply?: boolean
}) {
  const { role = 'message', content, reasoning_content, refusal, tool_calls } = message
  return (
    <li class={isReply ? 'reply' : undefined}>
      <Badge tone={isReply ? 'good' : role === 'user' ? 'info' : 'plain'}>{isReply ? 'reply' : role}</Badge>
      <MessageText label="Reasoning" value={reasoning_content} />
      <MessageText value={content} />
      <MessageText label="Refusal" value={refusal} />
      <MessageText label="Calls of tools" value={tool_calls} />
    </li>
  )
}

function MessageText({ value, label }: { readonly value: unknown; readonly label?: string }) {
  if (value == null || value === '' || (Array.isArray(value) && value.length === 0)) return null
  return (
    <>
      {label && <small class="muted">{label}</small>}
      <pre>{showHidden(typeof value === 'string' ? value : JSON.stringify(value, null, 2))}</pre>
    </>
  )
}
