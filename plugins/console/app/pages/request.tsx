import { useState } from 'preact/hooks'
import { post } from '../lib/api.ts'
import { useAction, useData } from '../lib/data.ts'
import type { Rule } from '../lib/drafts.ts'
import { formatCount, formatMs, formatUsd } from '../lib/format.ts'
import { href } from '../lib/router.ts'
import type { ExplainedRule, RequestFeedback, RequestRecord, RuleTraceEntry } from '../lib/schemas.ts'
import { hasRole, isOperator, root } from '../lib/session.ts'
import { Diff, summarizeRule } from '../ui/diff.tsx'
import { Form, TextField } from '../ui/fields.tsx'
import { Empty, ErrorMessage, Links, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import {
  ActionBadge,
  Badge,
  PolicyLink,
  pastRulesLink,
  SessionLink,
  Stat,
  StatusBadge,
  Time,
  UserLink,
} from '../ui/values.tsx'

/** Operators see the rules of a request as they decided, and as they are now. */
type ShownRequest = RequestRecord & { readonly rules?: readonly ExplainedRule[] }

/** What happened to a request, and why. */
export function RequestPage({ id }: { readonly id: string }) {
  const request = useData<ShownRequest>(`${root()}/requests/${encodeURIComponent(id)}`)
  return (
    <PageLayout title={`Request ${id}`}>
      <ResourceView resource={request}>{(record) => <RequestDetails record={record} />}</ResourceView>
    </PageLayout>
  )
}

function RequestDetails({ record }: { readonly record: ShownRequest }) {
  const { status, error, tokens, rules_position, user_id } = record
  const block = record.rule_trace.find(({ action, outcome }) => action === 'block' && outcome === 'applied')
  return (
    <>
      {error && (
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
      )}
      <dl class="stats">
        <Stat label="Time" value={<Time value={record.time} />} />
        <Stat label="User" value={<UserLink id={user_id} />} />
        <Stat label="Status" value={<StatusBadge status={status} />} />
        <Stat
          label="Model"
          value={record.model ?? '–'}
          note={`asked for ${record.requested_model ?? 'none'}`}
        />
        <Stat label="Cost" value={formatUsd(record.cost_usd)} />
        <Stat
          label="Latency"
          value={formatMs(record.latency_ms)}
          note={record.first_token_ms !== null && `first token ${formatMs(record.first_token_ms)}`}
        />
        <Stat
          label="Tokens"
          value={
            tokens ? `${formatCount(tokens.input ?? 0)} in, ${formatCount(tokens.output ?? 0)} out` : '–'
          }
        />
        <Stat label="Endpoint" value={<code>{record.endpoint}</code>} />
        {record.session_id && (
          <Stat label="Session" value={<SessionLink id={record.session_id} user={user_id} />} />
        )}
        {record.deployment && <Stat label="Deployment" value={record.deployment} />}
        {record.routing_arm && <Stat label="Drawn by a split" value={record.routing_arm} />}
        {record.router && <RouterStat {...record.router} />}
      </dl>
      {record.shadow_of && (
        <p>
          A copy of{' '}
          <a href={href(`/requests/${encodeURIComponent(record.shadow_of)}`)}>
            request <code>{record.shadow_of}</code>
          </a>{' '}
          for another model. The client did not get this reply.
        </p>
      )}
      <Links>
        {pastRulesLink(record)}
        <a href={href('/simulator', { user: user_id, at: rules_position, request: record.x_request_id })}>
          Open in the simulator
        </a>
        {record.key_id === null ? (
          <a href={href('/requests', { user: user_id })}>Requests of this user</a>
        ) : (
          <a href={href('/requests', { key: record.key_id })}>Requests of this key</a>
        )}
      </Links>
      {record.routing_reason && <p class="muted">{record.routing_reason}</p>}
      <div class="grid">
        <Trace entries={record.rule_trace} rules={record.rules ?? []} />
        <Attempts attempts={record.attempts} />
        <FeedbackPanel record={record} />
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
    </>
  )
}

function RouterStat({ version, p, propensity }: NonNullable<RequestRecord['router']>) {
  const drawn = propensity !== null && `drawn with probability ${formatShare(propensity)}`
  return (
    <Stat
      label={`Router, version ${version}`}
      value={p === null ? 'model unknown' : `P(good) ${formatShare(p)}`}
      note={drawn}
    />
  )
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

function Attempts({ attempts }: Pick<RequestRecord, 'attempts'>) {
  return (
    <Panel title="Calls to providers">
      {attempts.length === 0 && <Empty>No provider was called.</Empty>}
      <ol class="list">
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
            icon="👍"
            isPressed={quality?.score === 1}
            onClick={() => give.start(1)}
          />
          <Thumb
            label="Bad answer"
            icon="👎"
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
  readonly icon: string
  readonly isPressed: boolean
  readonly onClick: () => void
}

function Thumb({ label, icon, isPressed, onClick }: ThumbProps) {
  return (
    <button
      type="button"
      class={isPressed ? 'primary' : ''}
      aria-label={label}
      aria-pressed={isPressed}
      onClick={onClick}
    >
      <span aria-hidden="true">{icon}</span>
    </button>
  )
}

/** A score from 0 to 1. */
export function ScoreBadge({ score }: { readonly score: number }) {
  const tone = score >= 0.7 ? 'good' : score >= 0.4 ? 'warn' : 'bad'
  return <Badge tone={tone}>score {score.toFixed(2)}</Badge>
}
