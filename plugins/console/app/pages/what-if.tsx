import { useState } from 'preact/hooks'
import { endpointUrl, post } from '../lib/api.ts'
import { useAction } from '../lib/data.ts'
import { type DraftRule, toRulesFile } from '../lib/drafts.ts'
import { formatCount, formatUsd, humanize } from '../lib/format.ts'
import { isUtc } from '../lib/range.ts'
import { href } from '../lib/router.ts'
import type { Policy, WhatIfDecision, WhatIfResult, WhatIfToolDecision } from '../lib/schemas.ts'
import { resolveRange } from '../lib/time-range.ts'
import { ErrorMessage } from '../ui/page.tsx'
import { Badge } from '../ui/values.tsx'

const PERIODS = ['24h', '7d', '30d'] as const

/** Shows what the drafts would have done to recorded requests and calls of tools. */
export function WhatIf({ policy, drafts }: { policy: Policy; drafts: readonly DraftRule[] }) {
  const [result, setResult] = useState<WhatIfResult>()
  const [running, setRunning] = useState<string>()
  const evaluation = useAction(async (period: string) => {
    setRunning(period)
    const url = endpointUrl('/admin/what-if', { ...resolveRange({ from: period }, isUtc.value) })
    setResult(await post<WhatIfResult>(url, { file: toRulesFile(policy, drafts), examples: 5 }))
  })

  return (
    <section class="what-if" aria-label="Effect">
      <h3>Effect on recorded requests</h3>
      <div class="actions">
        {PERIODS.map((period) => (
          <button
            key={period}
            type="button"
            disabled={evaluation.isBusy}
            onClick={() => evaluation.start(period)}
          >
            {evaluation.isBusy && running === period ? 'Evaluating…' : `Last ${period}`}
          </button>
        ))}
      </div>
      {evaluation.error && <ErrorMessage error={evaluation.error} />}
      {result && <Effects {...result} />}
    </section>
  )
}

function Effects(result: WhatIfResult) {
  const { requests, matching, evaluated, not_evaluated, limitations, effects, cost_usd, replies } = result
  const counted = countEffects(effects)
  const summary = (
    <p>
      {requests < matching &&
        `Of ${formatCount(matching)} requests, the newest ${formatCount(requests)} were read. `}
      {formatCount(evaluated)} of {formatCount(requests)} requests evaluated.{' '}
      {evaluated > 0 && counted.length === 0 && 'None would be handled differently.'}
      {replies.evaluated > 0 &&
        ` Response rules were evaluated on ${formatCount(replies.evaluated)} replies.`}
    </p>
  )
  const nothing = limitations.find(({ code }) => code === 'nothing_evaluated')
  if (nothing) {
    return (
      <output>
        {summary}
        <p class="notice warn">{nothing.message}</p>
        {not_evaluated.map(({ message }) => (
          <p key={message} class="muted">
            {message}
          </p>
        ))}
      </output>
    )
  }
  return (
    <output>
      {summary}
      <LimitCounts {...result.limits} />
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
      <ToolEffects {...result.tool_calls} />
      <ul class="list">
        {result.examples.map((example) => (
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

function countEffects(effects: object): readonly (readonly [name: string, count: number])[] {
  return Object.entries(effects).filter(([name, count]) => count > 0 && name !== 'unchanged')
}

/** What the drafts would have done to calls of tools, if any are recorded. */
function ToolEffects({ calls, evaluated, not_evaluated, effects, examples }: WhatIfResult['tool_calls']) {
  if (calls === 0) return null
  const counted = countEffects(effects)
  return (
    <>
      <p>
        {formatCount(evaluated)} of {formatCount(calls)} calls of tools evaluated.{' '}
        {evaluated > 0 && counted.length === 0 && 'None would be decided differently.'}
      </p>
      <ul class="inline">
        {counted.map(([name, count]) => (
          <li key={name}>
            <b>{formatCount(count)}</b> {humanize(name)}
          </li>
        ))}
      </ul>
      {not_evaluated.map(({ reason, calls: others }) => (
        <p key={reason} class="muted">
          {formatCount(others)} not evaluated: {humanize(reason)}
        </p>
      ))}
      <ul class="list">
        {examples.map(({ x_request_id, server, tool, effects: own, before, after }) => (
          <li key={x_request_id}>
            <a href={href(`/tool-calls/${x_request_id}`)}>
              {server} {tool}
            </a>{' '}
            {own.map((effect) => (
              <Badge key={effect} tone="info">
                {humanize(effect)}
              </Badge>
            ))}
            <small class="muted block">
              {describeVerdict(before)} → {describeVerdict(after)}
            </small>
          </li>
        ))}
      </ul>
    </>
  )
}

function describeVerdict({ verdict, rule }: WhatIfToolDecision): string {
  return rule === null ? humanize(verdict) : `${humanize(verdict)} by ${rule.name}`
}

/** Requests under budgets and limits, if there are any. */
function LimitCounts({ before, after }: WhatIfResult['limits']) {
  const counts = Object.entries(before).map(([name, count]) => {
    const now = after[name as keyof typeof after]
    return count || now ? [`${humanize(name)} ${count} → ${now}`] : []
  })
  return counts.flat().length === 0 ? null : (
    <p>Requests under budgets and limits: {counts.flat().join(', ')}</p>
  )
}

function DecisionText({ title, decision }: { readonly title: string; readonly decision: WhatIfDecision }) {
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
