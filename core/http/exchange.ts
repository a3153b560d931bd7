import type { Account, Dialect, Exchange, GatewayContext, JsonObject, RuleSet } from '../contract/index.ts'
import { chain, type MaybePromise } from '../soon.ts'

/** Who asks, and by which rules, at one moment. */
export interface CallerSnapshot {
  readonly account: Account
  readonly rules: RuleSet
}

/** What of a dialect is about requests. */
export type RequestParser = Pick<Dialect, 'parseRequest' | 'parsePreferences' | 'defaults'>

/** The exchange of a request that nobody has looked at yet. Throws 400 naming the parameter at fault. */
export function createExchange(
  reader: RequestParser,
  body: JsonObject,
  ctx: GatewayContext,
  { account, rules }: CallerSnapshot,
): MaybePromise<Exchange> {
  return chain(reader.parseRequest(body, ctx), (request) => ({
    id: ctx.requestId,
    account,
    client: ctx.client,
    startedAt: ctx.startedAt,
    rules,
    rulesPosition: Math.max(rules.position, account.position),
    request,
    preferences: reader.parsePreferences?.(body) ?? [],
    defaulted: (reader.defaults ?? []).filter((name) => body[name] === undefined),
    warnings: [],
    trace: [],
    attempts: [],
  }))
}
