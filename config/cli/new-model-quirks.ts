import type { Model } from '../../core/contract/index.ts'
import type { ListedPrices } from '../prices/price-list.ts'

/**
 * Returns the quirks of a new model. `responses` is what the list says. If it says nothing, a model of OpenAI
 * that reasons has it, as the newest ones in the catalogue do, unless its version is older than the oldest of
 * these: the Responses API serves all models, whereas chat completions refuse tools of some.
 */
export function findNewQuirks(
  rows: readonly Model[],
  { provider, model, facts }: ListedPrices,
): Model['quirks'] {
  if (provider !== 'openai') return {}
  const responses = facts?.responses ?? (facts?.reasoning === true && !isOlder(model, oldestVersion(rows)))
  return responses === false ? {} : { responses }
}

/** The lowest version whose tools are taken in the Responses API only. */
function oldestVersion(rows: readonly Model[]): number {
  const versions = rows
    .filter(({ provider, quirks }) => provider === 'openai' && quirks.responses === true)
    .flatMap(({ id }) => versionOf(id) ?? [])
  return Math.min(...versions)
}

/** Names without a version are not older. */
function isOlder(model: string, version: number): boolean {
  return (versionOf(model) ?? Number.POSITIVE_INFINITY) < version
}

/** The version of `gpt-5.4-mini` as a number by which versions can be ordered. */
function versionOf(model: string): number | undefined {
  const [, major, minor = '0'] = /^gpt-(\d+)(?:\.(\d+))?(?=-|$)/.exec(model) ?? []
  return major === undefined ? undefined : Number(major) * 1000 + Number(minor)
}
