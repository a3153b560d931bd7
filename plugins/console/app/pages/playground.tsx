import { signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { type ApiError, get, orElse, post, toError } from '../lib/api.ts'
import { sendChat } from '../lib/chat.ts'
import { type ChatDraft, EMPTY_CHAT, toChatBody } from '../lib/chat-draft.ts'
import { useAction, useResource } from '../lib/data.ts'
import { formatCount, formatMs, formatUsd } from '../lib/format.ts'
import { users } from '../lib/names.ts'
import { href, route } from '../lib/router.ts'
import type { RequestRecord, Simulation } from '../lib/schemas.ts'
import { hasRole, isOperator, root, session } from '../lib/session.ts'
import { UserPicker, useChosenUser } from '../ui/combobox.tsx'
import { CheckField, Form, TextField } from '../ui/fields.tsx'
import { ModelPicker, ROUTING_MODES, useModels } from '../ui/model-picker.tsx'
import { Empty, ErrorMessage, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { SnippetPanel } from '../ui/snippet.tsx'
import { Badge, Stat } from '../ui/values.tsx'
import { Trace } from './request.tsx'
import { Outcome } from './simulator.tsx'

/** By the key that signed in. What is written stays until the window is closed. */
const drafts = signal<ReadonlyMap<string, ChatDraft>>(new Map())

/** Sends a chat of the user who is signed in. For operators, the gateway decides about it only. */
export function PlaygroundPage() {
  const owner = session.value?.id ?? ''
  const draft = drafts.value.get(owner) ?? EMPTY_CHAT
  const props = {
    draft,
    onChange(change: Partial<ChatDraft>) {
      drafts.value = new Map([[owner, { ...draft, ...change }]])
    },
  }
  const chosen = route.value.query.get('model')
  useEffect(() => {
    if (chosen) props.onChange({ model: chosen })
  }, [chosen])
  return (
    <PageLayout title="Playground">
      {session.value?.sends_chats ? <SentChat {...props} /> : <DecidedChat {...props} />}
      <SnippetPanel title="This request as code" draft={draft} />
    </PageLayout>
  )
}

interface DraftProps {
  readonly draft: ChatDraft
  readonly onChange: (change: Partial<ChatDraft>) => void
}

/** An answer as it arrives. */
interface Answer {
  readonly text: string
  readonly isComplete: boolean
  readonly isStopped?: boolean
  readonly error?: ApiError
  readonly requestId?: string
}

function SentChat(props: DraftProps) {
  const [answer, setAnswer] = useState<Answer>()
  const current = useRef<AbortController>(undefined)
  useEffect(() => () => current.current?.abort(), [])

  async function send(): Promise<void> {
    const controller = new AbortController()
    current.current = controller
    let shown: Answer = { text: '', isComplete: false }
    function show(change: Partial<Answer>): void {
      shown = { ...shown, ...change }
      setAnswer(shown)
    }
    show({})
    const receiver = {
      start: (requestId: string) => show({ requestId }),
      add: (text: string) => show({ text: shown.text + text }),
    }
    const failure = await sendChat(props.draft, receiver, controller.signal).then(
      () => ({}),
      (thrown: unknown) => (controller.signal.aborted ? { isStopped: true } : toFailure(toError(thrown))),
    )
    show({ ...failure, isComplete: true })
  }

  const isBusy = answer?.isComplete === false
  return (
    <div class="playground">
      <DraftForm {...props} onSubmit={() => void (isBusy || send())}>
        {/* Two elements: one that turns into the other would send when it is to stop. */}
        {isBusy ? (
          <button key="stop" type="button" onClick={() => current.current?.abort()}>
            Stop
          </button>
        ) : (
          <button key="send" type="submit" class="primary">
            Send
          </button>
        )}
      </DraftForm>
      <div class="stack">
        <AnswerPanel answer={answer} />
        {answer?.isComplete && answer.requestId && (
          <RequestTrace key={answer.requestId} id={answer.requestId} />
        )}
      </div>
    </div>
  )
}

const toFailure = (error: ApiError) => ({ error, ...(error.requestId && { requestId: error.requestId }) })

interface DraftFormProps extends DraftProps {
  readonly before?: ComponentChildren
  readonly onSubmit: () => void
  /** The buttons. */
  readonly children: ComponentChildren
}

function DraftForm({ draft, onChange, before, onSubmit, children }: DraftFormProps) {
  const models = useModels()
  return (
    <Form class="panel" label="Request" onSubmit={onSubmit}>
      {before}
      <ModelPicker
        label="Model"
        models={[...ROUTING_MODES, ...models]}
        value={draft.model}
        onChange={(model) => onChange({ model })}
      />
      <TextField
        label="System"
        rows={2}
        value={draft.system}
        onInput={(system) => onChange({ system })}
        placeholder="What the model is to do or to be. May be empty."
      />
      <TextField
        label="Message of the user"
        rows={6}
        value={draft.prompt}
        onInput={(prompt) => onChange({ prompt })}
        required
      />
      <div class="row">
        <TextField
          label="Temperature"
          type="number"
          min={0}
          max={2}
          value={draft.temperature}
          onInput={(temperature) => onChange({ temperature })}
          placeholder="of the model"
        />
        <TextField
          label="Most output tokens"
          type="number"
          min={1}
          value={draft.maxTokens}
          onInput={(maxTokens) => onChange({ maxTokens })}
          placeholder="of the model"
        />
      </div>
      <div class="spread">
        <CheckField
          label="Stream the answer"
          checked={draft.isStreamed}
          onChange={(isStreamed) => onChange({ isStreamed })}
        />
        <div class="actions">{children}</div>
      </div>
    </Form>
  )
}

function AnswerPanel({ answer }: { readonly answer: Answer | undefined }) {
  return (
    <Panel title="Answer" actions={answer && <AnswerState {...answer} />}>
      {answer === undefined && (
        <Empty>
          Write a message and send it. The answer appears here as it arrives; then the rules that applied, why
          the model was chosen, and what it cost. The request counts as yours.
        </Empty>
      )}
      {answer?.text && (
        <output class="answer" aria-busy={!answer.isComplete}>
          {answer.text}
        </output>
      )}
      {answer?.isComplete && !answer.error && !answer.isStopped && answer.text === '' && (
        <Empty>The model answered without a text.</Empty>
      )}
      {answer?.error && <ErrorMessage error={answer.error} />}
    </Panel>
  )
}

function AnswerState({ isComplete, isStopped, error, text }: Answer) {
  if (!isComplete) return <Badge tone="info">{text === '' ? 'waiting' : 'answering'}</Badge>
  if (isStopped) return <Badge tone="warn">stopped</Badge>
  return error ? <Badge tone="bad">failed</Badge> : <Badge tone="good">complete</Badge>
}

/** The request of an answer is recorded when its connection has ended, shortly after the last text. */
const RECORD_TRIES = 5
const RECORD_PAUSE_MS = 300

async function readRecord(id: string): Promise<RequestRecord | null> {
  for (let tries = 1; ; tries++) {
    const record = await get<RequestRecord | null>(`/v1/requests/${id}`).catch(orElse(null))
    if (record !== null || tries === RECORD_TRIES) return record
    await new Promise((resolve) => setTimeout(resolve, RECORD_PAUSE_MS))
  }
}

/** What the gateway did with a request, as it is recorded. */
function RequestTrace({ id }: { readonly id: string }) {
  const record = useResource(id, () => readRecord(id))
  return (
    <ResourceView resource={record}>
      {(data) =>
        data === null ? <Empty>The request {id} is not recorded.</Empty> : <RecordView {...data} />
      }
    </ResourceView>
  )
}

function RecordView(record: RequestRecord) {
  const { provider, model, requested_model, tokens, cost_usd, latency_ms, first_token_ms } = record
  return (
    <>
      <dl class="stats">
        <Stat
          label="Model"
          value={model === null ? '–' : `${provider}/${model}`}
          note={`asked for ${requested_model ?? 'none'}`}
        />
        <Stat label="Cost" value={formatUsd(cost_usd)} />
        <Stat
          label="Tokens"
          value={tokens ? `${formatCount(tokens.input)} in, ${formatCount(tokens.output)} out` : '–'}
        />
        <Stat
          label="Time"
          value={formatMs(latency_ms)}
          note={first_token_ms !== null && `first token ${formatMs(first_token_ms)}`}
        />
      </dl>
      {record.routing_reason && (
        <Panel title="Why this model">
          <p>{record.routing_reason}</p>
        </Panel>
      )}
      <Trace entries={record.rule_trace} rules={[]} />
      {record.warnings.length > 0 && (
        <Panel title="Warnings">
          <ul class="list">
            {record.warnings.map(({ code, message }) => (
              <li key={code + message}>{message}</li>
            ))}
          </ul>
        </Panel>
      )}
      <p>
        <a href={href(`/requests/${record.x_request_id}`)}>Open the request</a>
      </p>
    </>
  )
}

/** Where the session sends nothing: what the rules and the routing would do. */
function DecidedChat(props: DraftProps) {
  const chosen = useChosenUser()
  const [result, setResult] = useState<Simulation>()
  const decision = useAction(async () => {
    const request = toChatBody(props.draft)
    const body = isOperator() ? { request, user_id: Number(chosen.user) } : request
    setResult(await post<Simulation>(`${root()}/simulate`, body))
  })
  return (
    <>
      <p class="notice">
        {isOperator() ? (
          <WhyNotSent user={chosen.user} />
        ) : (
          'This gateway accepts no requests from the console.'
        )}
      </p>
      <div class="playground">
        <DraftForm
          {...props}
          onSubmit={decision.start}
          before={isOperator() && <UserPicker value={chosen.user} onChange={chosen.set} required />}
        >
          <button type="submit" class="primary" disabled={decision.isBusy}>
            Decide without sending
          </button>
        </DraftForm>
        <div class="stack">
          {chosen.error && <ErrorMessage error={chosen.error} />}
          {decision.error && <ErrorMessage error={decision.error} />}
          {result ? (
            <Outcome {...result} />
          ) : (
            <Panel title="Outcome">
              <Empty>What the rules of the user would do, and which model would answer.</Empty>
            </Panel>
          )}
        </div>
      </div>
    </>
  )
}

/** Nobody spends as somebody else. */
function WhyNotSent({ user }: { readonly user: string }) {
  const name = user === '' ? 'a user' : users.of(Number(user))
  return (
    <>
      Operators send no requests: each one is a user's, and spends the user's budget. Here the gateway decides
      about a request of {name} without sending it. To send it, sign in with an API key of {name}, or run the
      code below with one
      {hasRole('admin') && user !== '' && (
        <>
          ; <a href={href(`/users/${user}`)}>create a key</a>, which is recorded in the audit trail
        </>
      )}
      .
    </>
  )
}
