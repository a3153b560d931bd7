import type { GatewayContext } from '../../core/contract/index.ts'
import type { RequestCount } from './counter.ts'

/** Says on the answer how much of the limit is left, under OpenAI's names and in OpenAI's form (decisions: "rate limits"). */
export function setLimitHeaders(ctx: GatewayContext, limit: number, { used, resetMs }: RequestCount): void {
  ctx.res.setDefaultHeader('x-ratelimit-limit-requests', String(limit))
  ctx.res.setDefaultHeader('x-ratelimit-remaining-requests', String(Math.max(limit - used, 0)))
  ctx.res.setDefaultHeader('x-ratelimit-reset-requests', writeDuration(wholeSeconds(resetMs)))
}

/** Seconds until something may happen again; never 0, for "now" would be refused once more. */
export function wholeSeconds(milliseconds: number): number {
  return Math.max(Math.ceil(milliseconds / 1000), 1)
}

/** `59s`, `1m0s`. */
export function writeDuration(seconds: number): string {
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`
}
