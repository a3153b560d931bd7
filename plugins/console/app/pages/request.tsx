import { get } from '../lib/api.ts'
import { formatCount, formatMs, formatUsd } from '../lib/format.ts'
import { useResource } from '../lib/resource.ts'
import { href } from '../lib/router.ts'
import { canReadPastRules, isOperator } from '../lib/session.ts'
import type { RequestRecord, RuleThenAndNow, TraceEntry } from '../lib/types.ts'
import { Diff } from '../ui/diff.tsx'
import { Empty, PageLayout, Panel, ResourceView } from '../ui/page.tsx'
import { ActionBadge, Badge, PolicyLink, Stat, StatusBadge, Time, UserLink } from '../ui/values.tsx'
import { FeedbackPanel } from './feedback-panel.tsx'
import { summarizeRule } from './rule-summary.ts'

/** What happened to a request, and why. */
export function RequestPage({ id }: { readonly id: string }) {
  const path = `${isOperator() ? '/admin' : '/v1'}/requests/${encodeURIComponent(id)}`
  const request = useResource(path, () => get<RequestRecord>(path))
  return (
    <PageLayout title={`Request ${id}`}>
      <ResourceView resource={request}>{(record) => <RequestDetails record={record} />}</ResourceView>
    </PageLayout>
  )
}

function RequestDetails({ record }: { readonly record: RequestRecord }) {
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
      <p>
        {canReadPastRules() && (
          <>
            <a href={href('/time', { user: user_id, at: rules_position })}>
              The rules of then (position {rules_position})
            </a>{' '}
            ·{' '}
          </>
        )}
        <a href={href('/simulator', { user: user_id, at: rules_position, request: record.x_request_id })}>
          Open in the simulator
        </a>{' '}
        · <a href={href('/requests', { key: record.key_id })}>Requests of this key</a>
      </p>
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
  readonly entries: readonly TraceEntry[]
  readonly rules: readonly RuleThenAndNow[]
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
              {entry.outcome !== 'applied' && <Badge>{entry.reason ?? entry.outcome}</Badge>}
              {rule && <ThenAndNow {...rule} />}
            </li>
          )
        })}
      </ol>
    </Panel>
  )
}

function ThenAndNow({ as_decided, current, state }: RuleThenAndNow) {
  return (
    <>
      {as_decided && <code class="block">{summarizeRule(as_decided)}</code>}
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
        {attempts.map(({ provider, model, outcome, ms }, index) => (
          <li key={`${index}`} class="spread">
            <span>
              {provider}/{model}
            </span>
            <Badge tone={outcome === 'ok' ? 'good' : 'bad'}>{outcome}</Badge>
            <span class="muted">{formatMs(ms)}</span>
          </li>
        ))}
      </ol>
    </Panel>
  )
}
