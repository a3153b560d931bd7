import { PROVIDERS } from './providers.ts'
import type { StartUp } from './start-up.ts'
import type { CaseResult } from './summarize.ts'

/** A performance goal, and the value that this run measured. */
export interface Goal {
  readonly figure: string
  readonly reach: string
  /** Undefined if this run did not measure it. */
  readonly value: string | undefined
  readonly reached: boolean | undefined
}

/** Evaluates the project's performance goals. */
export function readGoals(
  results: readonly CaseResult[],
  startUp: StartUp | undefined,
  memoryGrowth: number | undefined,
): readonly Goal[] {
  const find = (id: string) => results.find((result) => result.id === id)
  const rate = (id: string, label: string): Value => find(id)?.ratios[label]?.rate
  const rateTo = (id: string, label: string, other: string) => {
    const figures = find(id)?.figures
    return divide(figures?.[label]?.perSecond, figures?.[other]?.perSecond)
  }
  const added = (share: 'first50' | 'first99') => {
    const figures = find('paced-10')?.figures
    return subtract(figures?.d?.[share], figures?.a?.[share])
  }
  return [
    atLeast('requests/s, small body, 64 connections, (d) ÷ (b)', 0.75, rate('chat-small-64', 'd')),
    open('the same per second of processor time', find('chat-small-64')?.ratios.d?.perCpuSecond),
    atLeast('requests/s, small body, 64 connections, (d) ÷ (e)', 8, rateTo('chat-small-64', 'd', 'e')),
    atLeast('stream, records/s, OpenAI, (d) ÷ (b)', 0.6, rate('stream-10', 'd')),
    ...PROVIDERS.slice(1).map(({ name }) =>
      atLeast(`stream, records/s, ${name}, (d) ÷ (b)`, 0.4, rate(`${name}-stream-10`, 'd')),
    ),
    open(
      'paced stream, streams per second of processor time, (d) ÷ (b)',
      find('paced-10')?.ratios.d?.perCpuSecond,
    ),
    atLeast(
      'streams in packets of 32 records, per second of CPU time of the main thread, (d) ÷ (b)',
      0.9,
      find('burst-10')?.ratios.d?.perMainSecond,
    ),
    atMost('time to first token, added to (a), p50', 1, added('first50'), 'ms'),
    atMost('time to first token, added to (a), p99', 5, added('first99'), 'ms'),
    atLeast('requests/s, 5,000 rules ÷ 10', 0.9, rate('rules-64', '5,000 rules')),
    atLeast('ledger, costs and budgets on ÷ off', 0.9, rate('ledger-64', 'budgets')),
    atLeast('/v1/responses ÷ chat, 64 connections', 0.6, rate('responses-64', 'responses')),
    atLeast('a no-op Koa middleware ÷ none, whole responses', 0.8, rate('middleware-whole-64', 'middleware')),
    atLeast('the same, streams', 0.8, rate('middleware-stream-10', 'middleware')),
    open('2 processes ÷ 1', rate('workers-64', '2 workers')),
    atMost('resident memory, idle', 120, startUp?.idleMegabytes, 'MB'),
    atMost('growth from 50,000 to 500,000 requests, of the last `--memory`', 15, percent(memoryGrowth), '%'),
    atMost('start to ready, empty log', 700, startUp?.readyMs, 'ms'),
  ]
}

type Value = number | undefined

function atLeast(figure: string, least: number, value: Value): Goal {
  return goal(figure, `≥ ${least}`, value, '', (found) => found >= least)
}

function atMost(figure: string, most: number, value: Value, unit: string): Goal {
  return goal(figure, `≤ ${most} ${unit}`, value, ` ${unit}`, (found) => found <= most)
}

/** A value that is reported without a goal. */
function open(figure: string, value: Value): Goal {
  return goal(figure, 'reported', value, '', () => undefined)
}

function goal(
  figure: string,
  reach: string,
  value: Value,
  unit: string,
  judge: (value: number) => boolean | undefined,
): Goal {
  if (value === undefined || Number.isNaN(value))
    return { figure, reach, value: undefined, reached: undefined }
  const digits = value >= 20 ? 0 : 2
  return { figure, reach, value: value.toFixed(digits) + unit, reached: judge(value) }
}

function percent(share: Value): Value {
  return share === undefined ? undefined : share * 100
}

function divide(value: Value, by: Value): Value {
  return value === undefined || by === undefined ? undefined : value / by
}

function subtract(value: Value, less: Value): Value {
  return value === undefined || less === undefined ? undefined : value - less
}
