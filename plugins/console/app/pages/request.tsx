import { type IconNode, ThumbsDown, ThumbsUp } from 'lucide'
import { useLayoutEffect, useState } from 'preact/hooks'
import { post } from '../lib/api.ts'
import { useAction, useData } from '../lib/data.ts'
import type { Rule } from '../lib/drafts.ts'
import { formatCount, formatMs, formatUsd } from '../lib/format.ts'
import { findNeighbours } from '../lib/neighbours.ts'
import { href, navigate } from '../lib/router.ts'
import type { ExplainedRule, RequestFeedback, RequestRecord, RuleTraceEntry } from '../lib/schemas.ts'
import { hasRole, isOperator, root } from '../lib/session.ts'
import { CopyButton } from '../ui/dialogs.tsx'
import { Diff, summarizeRule } from '../ui/diff.tsx'
import { Form, TextField } from '../ui/fields.tsx'
import { Icon } from '../ui/icon.tsx'
import { Empty, ErrorMessage, Links, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import {
  ActionBadge,
  Badge,
  PolicyLink,
  pastRulesLink,
  Stat,
  StatusBadge,
  Time,
  UserLink,
} from '../ui/values.tsx'
import { SessionOfRequest } from './request-session.tsx'
import { RequestTexts } from './request-texts.tsx'
import { Waterfall } from './request-waterfall.tsx'

/** Operators see the rules of a request as they decided, and as they are now. */
type ShownRequest = RequestRecord & { readonly rules?: readonly ExplainedRule[] }

/** What happened to a request, and why. */
export function RequestPage({ id }: { readonly id: string }) {
  const request = useData<ShownRequest>(`${root()}/requests/${encodeURIComponent(id)}`)
  return (
    <PageLayout
      title={`Request ${id}`}
      actions={
        <>
          <Neighbours id={id} />
          <CopyButton text={id} label="Copy id" />
          {request.data && <ReplayLink record={request.data} />}
        </>
      }
    >
      <ResourceView resource={request}>
        {(record) => <RequestDetails key={id} record={record} />}
      </ResourceView>
    </PageLayout>
  )
}

const addressOf = (id: string) => `/requests/${encodeURIComponent(id)}`

/** Those beside it in the list that it was opened from, also by the keys of lists. */
function Neighbours({ id }: { readonly id: string }) {
  const { before, after } = findNeighbours(id)
  // A key that follows at once must not go by the request of before.
  useLayoutEffect(() => {
    const onKey = ({ key, target, ctrlKey, metaKey, altKey }: KeyboardEvent) => {
      const isTyping =
        target instanceof HTMLElement && target.closest('input, select, textarea, dialog') !== null
      const next = key === 'j' ? after : key === 'k' ? before : undefined
      if (next !== undefined && !isTyping && !ctrlKey && !metaKey && !altKey) navigate(addressOf(next))
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [before, after])
  if (before === undefined && after === undefined) return null
  return (
    <>
      <NeighbourLink label="Previous" id={before} shortcut="k" />
      <NeighbourLink label="Next" id={after} shortcut="j" />
    </>
  )
}

interface NeighbourLinkProps {
  readonly label: string
  readonly id: string | undefined
  readonly shortcut: string
}

function NeighbourLink({ label, id, shortcut }: NeighbourLinkProps) {
  const common = { title: `Key ${shortcut}`, 'aria-keyshortcuts': shortcut }
  if (id === undefined)
    return (
      <button type="button" disabled {...common}>
        {label}
      </button>
    )
  return (
    <a class="button" href={href(addressOf(id))} {...common}>
      {label}
    </a>
  )
}

/** Only operators may read a recorded prompt, which then fills the simulator. */
function ReplayLink({ record }: { readonly record: ShownRequest }) {
  const { user_id: user, rules_position: at, x_request_id: request } = record
  return (
    <a class="button primary" href={href('/simulator', { at, ...(isOperator() && { user, request }) })}>
      Replay in the simulator
    </a>
  )
}

function RequestDetails({ record }: { readonly record: ShownRequest }) {
  return (
    <>
      <ErrorNotice record={record} />
      <RequestStats record={record} />
      {record.shadow_of && (
        <p>
          A copy of{' '}
          <a href={href(addressOf(record.shadow_of))}>
            request <code>{record.shadow_of}</code>
          </a>{' '}
          for another model. The client did not get this reply.
        </p>
      )}
      <Links>
        {pastRulesLink(record)}
        {record.key_id === null ? (
          <a href={href('/requests', { user: record.user_id })}>Requests of this user</a>
        ) : (
          <a href={href('/requests', { key: record.key_id })}>Requests of this key</a>
        )}
      </Links>
      <Waterfall record={record} />
      <div class="grid">
        <Target record={record} />
        <Trace entries={record.rule_trace} rules={record.rules ?? []} />
      </div>
      {record.warnings.length > 0 && (
        <Panel title="Warnings">
          <ul class="list">
            {record.warnings.map(({ code, message }) => (
              <li key={code + message}>{message}</li>
            ))}
          </ul>
        </Panel>
      )}
      <RequestTexts record={record} />
      {record.session_id && <SessionOfRequest record={record} id={record.session_id} />}
      <FeedbackPanel record={record} />
    </>
  )
}

function ErrorNotice({ record: { status, error, rule_trace } }: { readonly record: ShownRequest }) {
  if (error === undefined) return null
  const block = rule_trace.find(({ action, outcome }) => action === 'block' && outcome === 'applied')
  return (
    <div class="notice warn">
      <p>
        <StatusBadge status={status} /> <b>{error.code}</b> {error.message}
      </p>
      {block && (
        <p>
          The rule <b>{block.name}</b>
          {block.origin?.type === 'policy' && (
            <>
              {' '}
              of the policy <PolicyLink origin={block.origin} />
            </>
          )}{' '}
          blocked it.
        </p>
      )}
    </div>
  )
}

function RequestStats({ record }: { readonly record: ShownRequest }) {
  const { tokens, first_token_ms, attempts } = record
  const failed = attempts.filter(({ outcome }) => outcome !== 'ok').length
  return (
    <dl class="stats">
      <Stat label="Status" value={<StatusBadge status={record.status} />} note={record.error?.code} />
      <Stat label="Time" value={<Time value={record.time} />} />
      <Stat label="User" value={<UserLink id={record.user_id} />} />
      <Stat
        label="Model"
        value={record.model ?? '–'}
        note={`asked for ${record.requested_model ?? 'none'}`}
      />
      <Stat
        label="Latency"
        value={formatMs(record.latency_ms)}
        note={first_token_ms !== null && `first token ${formatMs(first_token_ms)}`}
      />
      <Stat
        label="Cost"
        value={formatUsd(record.cost_usd)}
        note={record.cache_hit ? 'from the cache' : failed > 0 && `after ${formatCount(failed)} failed calls`}
      />
      <Stat
        label="Tokens"
        value={tokens ? `${formatCount(tokens.input ?? 0)} in, ${formatCount(tokens.output ?? 0)} out` : '–'}
        note={tokens && describeTokens(tokens)}
      />
    </dl>
  )
}

function describeTokens({ cached = 0, reasoning = 0 }: NonNullable<RequestRecord['tokens']>) {
  const parts = [
    cached > 0 && `${formatCount(cached)} cached`,
    reasoning > 0 && `${formatCount(reasoning)} reasoning`,
  ]
  return parts.filter(Boolean).join(', ')
}

/** The chosen target, why it was chosen, and what became of the calls. */
function Target({ record }: { readonly record: ShownRequest }) {
  const { provider, model, requested_model, routing_mode, routing_reason, routing_arm, router } = record
  const { attempts, cache_hit } = record
  return (
    <Panel title="Target">
      <dl class="facts">
        <Fact name="Endpoint" value={record.endpoint} />
        <Fact name="Asked for" value={requested_model ?? 'no model'} />
        <Fact name="Served by" value={model === null ? 'nobody' : `${provider}/${model}`} />
        {record.deployment && <Fact name="Deployment" value={record.deployment} />}
        {routing_mode && <Fact name="Mode" value={routing_mode} />}
        {routing_arm && <Fact name="Drawn by a split" value={routing_arm} />}
        {router && <Fact name={`Router, version ${router.version}`} value={describeRouter(router)} />}
        {routing_reason && <Fact name="Why" value={routing_reason} />}
      </dl>
      <h3>Calls to providers</h3>
      {attempts.length === 0 && <Empty>{cache_hit ? 'The cache replied.' : 'No provider was called.'}</Empty>}
      <ol class="list" aria-label="Calls to providers">
        {attempts.map(({ provider, model, deployment, outcome, ms }, index) => (
          <li key={`${index}`} class="spread">
            <span>
              {provider}/{model}
              {deployment && ` at ${deployment}`}
            </span>
            <Badge tone={outcome === 'ok' ? 'good' : 'bad'}>{outcome}</Badge>
            <span class="muted">{formatMs(ms)}</span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}

function Fact({ name, value }: { readonly name: string; readonly value: string }) {
  return (
    <div class="fact">
      <dt>{name}</dt>
      <dd>{value}</dd>
    </div>
  )
}

function describeRouter({ p, propensity }: NonNullable<RequestRecord['router']>): string {
  const good = p === null ? 'does not know the model' : `expects a good answer with ${formatShare(p)}`
  return propensity === null ? good : `${good}; drawn with probability ${formatShare(propensity)}`
}

const formatShare = (share: number) => `${Math.round(share * 1000) / 10} %`

interface TraceProps {
  readonly entries: readonly RuleTraceEntry[]
  readonly rules: readonly ExplainedRule[]
}

export function Trace({ entries, rules }: TraceProps) {
  return (
    <Panel title="Rules">
      {entries.length === 0 && <Empty>No rule did anything.</Empty>}
      <ol class="list">
        {entries.map((entry) => {
          const rule = rules.find(({ kind, id }) => kind === entry.kind && id === entry.rule_id)
          return (
            <li key={`${entry.kind}${entry.rule_id}${entry.action}${entry.scope}`}>
              <ActionBadge action={entry.action} /> <b>{entry.name}</b>{' '}
              {entry.origin?.type === 'policy' && (
                <>
                  of <PolicyLink origin={entry.origin} rule={`${entry.kind}:${entry.rule_id}`} />
                </>
              )}{' '}
              {entry.arm && <code>{entry.arm}</code>}{' '}
              {entry.excluded && (
                <span title={entry.excluded.join(', ')}>
                  excluded {entry.excluded_count} of the models that could have served it
                </span>
              )}{' '}
              {entry.outcome !== 'applied' && <Badge>{entry.reason ?? entry.outcome}</Badge>}
              {rule && <ThenAndNow {...rule} />}
            </li>
          )
        })}
      </ol>
    </Panel>
  )
}

function ThenAndNow({ as_decided, current, state }: ExplainedRule) {
  return (
    <>
      {as_decided && <code class="block">{summarizeRule(as_decided as Partial<Rule>)}</code>}
      {state === 'deleted' && <Badge tone="bad">deleted since</Badge>}
      {state === 'changed' && (
        <>
          <Badge tone="info">changed since</Badge>
          <Diff before={as_decided} after={current} />
        </>
      )}
    </>
  )
}

const SIGNALS: Readonly<Record<string, string>> = {
  cut_off: 'cut off at a limit of its length',
  invalid_tool_call: 'arguments of a tool call do not parse',
  schema_mismatch: 'not the JSON that was demanded',
  asked_again: 'asked again within a minute',
}

/** What was said about an answer: thumbs and a comment, and what the answer shows about itself. */
function FeedbackPanel({ record }: { readonly record: ShownRequest }) {
  const [feedback, setFeedback] = useState(record.feedback)
  const quality = feedback.find(({ name }) => name === 'quality')
  const [comment, setComment] = useState(quality?.comment ?? '')
  const canGive = !isOperator() || hasRole('editor')

  const give = useAction(async (score: number) => {
    const text = comment.trim()
    const body = { request_id: record.x_request_id, score, ...(text !== '' && { comment: text }) }
    const given = await post<RequestFeedback>(`${root()}/feedback`, body)
    setFeedback([given, ...feedback.filter(({ name }) => name !== 'quality')])
  })

  return (
    <Panel title="Feedback">
      {canGive && (
        <div class="actions">
          <Thumb
            label="Good answer"
            shapes={ThumbsUp}
            isPressed={quality?.score === 1}
            onClick={() => give.start(1)}
          />
          <Thumb
            label="Bad answer"
            shapes={ThumbsDown}
            isPressed={quality?.score === 0}
            onClick={() => give.start(0)}
          />
        </div>
      )}
      <p>
        {quality === undefined ? (
          <span class="muted">Nobody has rated this answer.</span>
        ) : (
          <ScoreBadge score={quality.score} />
        )}{' '}
        {record.signals.map((signal) => (
          <Badge key={signal} tone="warn">
            {SIGNALS[signal] ?? signal}
          </Badge>
        ))}
      </p>
      {canGive && quality !== undefined && (
        <Form onSubmit={() => give.start(quality.score)}>
          <TextField label="Comment" value={comment} onInput={setComment} rows={2} maxLength={2000} />
          <button type="submit">Save the comment</button>
        </Form>
      )}
      {!canGive && quality?.comment && <p>{quality.comment}</p>}
      <ul class="list">
        {feedback
          .filter(({ name }) => name !== 'quality')
          .map(({ name, score, comment }) => (
            <li key={name}>
              {name} <ScoreBadge score={score} /> {comment}
            </li>
          ))}
      </ul>
      {give.error && <ErrorMessage error={give.error} />}
    </Panel>
  )
}

interface ThumbProps {
  readonly label: string
  readonly shapes: IconNode
  readonly isPressed: boolean
  readonly onClick: () => void
}

function Thumb({ label, shapes, isPressed, onClick }: ThumbProps) {
  return (
    <button
      type="button"
      class={isPressed ? 'primary' : ''}
      aria-label={label}
      aria-pressed={isPressed}
      onClick={onClick}
    >
      <Icon shapes={shapes} />
    </button>
  )
}

/** A score from 0 to 1. */
export function ScoreBadge({ score }: { readonly score: number }) {
  const tone = score >= 0.7 ? 'good' : score >= 0.4 ? 'warn' : 'bad'
  return <Badge tone={tone}>score {score.toFixed(2)}</Badge>
}
