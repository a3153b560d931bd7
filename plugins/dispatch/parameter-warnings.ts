import type { ReplyingExchange, Target } from '../../core/contract/index.ts'
import type { Deviations } from '../../providers/shared/client.ts'

/** Warns of parameters that were omitted or sent with another value, unless the endpoint filled them in. */
export function addParameterWarnings(
  exchange: ReplyingExchange,
  { model }: Target,
  { omitted, changed }: Deviations,
): void {
  if (omitted.length === 0 && changed.length === 0) return
  const { defaulted, parameterNames, preferences, route, warnings } = exchange
  // Models of an automatic choice are tried in the order in which they honour the parameters, whatever the
  // messages hold.
  const isForced = route === undefined || route.isFixed || preferences.length > 0
  const causeOf = (param: string) => (isForced || param.endsWith(' in messages') ? '' : NO_BETTER_MODEL)
  const nameOf = (param: string) => parameterNames?.[param] ?? param
  const warn = (param: string, message: string) => {
    if (!defaulted.includes(param)) warnings.push({ code: 'parameter', message: message + causeOf(param) })
  }
  for (const param of omitted)
    warn(param, `${nameOf(param)} was omitted because ${model} does not support it.`)
  for (const { param, from, to, reason = `${model} does not support the original value` } of changed)
    warn(param, `${nameOf(param)} was changed from ${show(from)} to ${show(to)}: ${reason}.`)
}

const NO_BETTER_MODEL = ' No available model supports all parameters of this request.'

const MAX_SHOWN_CHARS = 100

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value)
  return text.length > MAX_SHOWN_CHARS ? `${text.slice(0, MAX_SHOWN_CHARS)}…` : text
}
