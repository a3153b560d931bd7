import { useState } from 'preact/hooks'
import { type ApiError, endpointUrl, send } from '../lib/api.ts'
import { type DraftRule, toRulesFile } from '../lib/drafts.ts'
import { formatCount, formatUsd, humanize, sinceOf } from '../lib/format.ts'
import { toError } from '../lib/resource.ts'
import { href } from '../lib/router.ts'
import type { Policy } from '../lib/types.ts'
import { ErrorMessage } from '../ui/page.tsx'
import { Badge } from '../ui/values.tsx'

interface Decision {
  readonly outcome: string
  readonly text?: string | null
  readonly error?: { readonly message?: string }
  readonly reply?: { readonly outcome: string; readonly text: string | null }
  readonly provider: string | null
  readonly model: string | null
}

interface Explained {
  readonly message: string
}

interface WhatIfResult {
  readonly requests: number
  /** More than `requests` if only the newest were evaluated. */
  readonly matching: number
  readonly evaluated: number
  readonly not_evaluated: readonly Explained[]
  readonly limitations: readonly Explained[]
  readonly limits: Readonly<Record<'before' | 'after', Readonly<Record<string, number>>>>
  readonly replies: { readonly evaluated: number; readonly not_evaluated: readonly Explained[] }
  readonly effects: Readonly<Record<string, number>>
  readonly cost_usd: { readonly before: number; readonly after: number; readonly change: number }
  readonly examples: readonly {
    readonly x_request_id: string
    readonly effects: readonly string[]
    readonly before: Decision
    readonly after: Decision
  }[]
}

const PERIODS = ['24h', '7d', '30d'] as const

interface WhatIfProps {
  readonly policy: Policy
  readonly drafts: readonly DraftRule[]
}

/** Shows what the drafts would have done to recorded requests. */
export function WhatIf({ policy, drafts }: WhatIfProps) {
  const [result, setResult] = useState<WhatIfResult>()
  const [error, setError] = useState<ApiError>()
  const [running, setRunning] = useState<string>()

  async function run(period: string) {
    setRunning(period)
    setError(undefined)
    const url = endpointUrl('/admin/what-if', { since: sinceOf(period) })
    const body = { file: toRulesFile(policy, drafts), examples: 5 }
    await send<{ data: WhatIfResult }>('POST', url, body).then(
      ({ data }) => setResult(data),
      (thrown: unknown) => setError(toError(thrown)),
    )
    setRunning(undefined)
  }

  return (
    <section class="what-if" aria-label="Effect">
      <h3>Effect on recorded requests</h3>
      <div class="actions">
        {PERIODS.map((period) => (
          <button key={period} type="button" disabled={running !== undefined} onClick={() => run(period)}>
            {running === period ? 'Evaluating…' : `Last ${period}`}
          </button>
        ))}
      </div>
      {error && <ErrorMessage error={error} />}
      {result && <Effects {...result} />}
    </section>
  )
}

function Effects(result: WhatIfResult) {
  const {
    requests,
    matching,
    evaluated,
    not_evaluated,
    limitations,
    effects,
    cost_usd,
    limits,
    replies,
    examples,
  } = result
  const counted = Object.entries(effects).filter(([name, count]) => count > 0 && name !== 'unchanged')
  return (
    <output>
      <p>
        {requests < matching &&
          `Of ${formatCount(matching)} requests, the newest ${formatCount(requests)} were read. `}
        {formatCount(evaluated)} of {formatCount(requests)} requests evaluated.{' '}
        {evaluated > 0 && counted.length === 0 && 'None would be handled differently.'}
        {replies.evaluated > 0 &&
          ` Response rules were evaluated on ${formatCount(replies.evaluated)} replies.`}
      </p>
      <LimitCounts {...limits} />
      <ul class="inline">
        {counted.map(([name, count]) => (
          <li key={name}>
            <b>{formatCount(count)}</b> {humanize(name)}
          </li>
        ))}
        {cost_usd.change !== 0 && (
          <li>
            cost {cost_usd.change > 0 ? '+' : '−'}
            {formatUsd(Math.abs(cost_usd.change))}
          </li>
        )}
      </ul>
      {[...not_evaluated, ...replies.not_evaluated, ...limitations].map(({ message }) => (
        <p key={message} class="muted">
          {message}
        </p>
      ))}
      <ul class="list">
        {examples.map((example) => (
          <li key={example.x_request_id}>
            <a href={href(`/requests/${example.x_request_id}`)}>{example.x_request_id}</a>{' '}
            {example.effects.map((effect) => (
              <Badge key={effect} tone="info">
                {humanize(effect)}
              </Badge>
            ))}
            <div class="side-by-side">
              <DecisionText title="Before" decision={example.before} />
              <DecisionText title="After" decision={example.after} />
            </div>
          </li>
        ))}
      </ul>
    </output>
  )
}

/** Requests under budgets and limits, if there are any. */
function LimitCounts({ before, after }: WhatIfResult['limits']) {
  const names = Object.keys(before).filter((name) => before[name] || after[name])
  if (names.length === 0) return null
  const counts = names.map((name) => `${humanize(name)} ${before[name]} → ${after[name]}`)
  return <p>Requests under budgets and limits: {counts.join(', ')}</p>
}

function DecisionText({ title, decision }: { readonly title: string; readonly decision: Decision }) {
  const { outcome, error, text, reply, provider, model } = decision
  return (
    <div>
      <small class="muted">
        {title}: {outcome} {provider && `${provider}/${model}`}
      </small>
      {error?.message && <p>{error.message}</p>}
      {text && <pre>{text}</pre>}
      {reply && (
        <small class="muted block">
          reply {reply.outcome}: {reply.text}
        </small>
      )}
    </div>
  )
}
