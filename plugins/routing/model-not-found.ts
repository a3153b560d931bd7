import { GatewayError, type Model } from '../../core/contract/index.ts'

/** The 404 for a model that nobody offers, with the closest names of the catalogue. */
export function modelNotFoundError(name: string, models: readonly Model[]): GatewayError {
  const closest = findClosestNames(name, models)
  const question = closest.length === 0 ? '' : ` Did you mean ${closest.join(' or ')}?`
  const message = `The model ${name} does not exist.${question} GET /v1/models lists the available models.`
  return new GatewayError('model_not_found', message, { param: 'model' })
}

/** One typing error in six characters still finds a name. */
const CHARACTERS_PER_ERROR = 6

const MAX_HINTS = 3

function findClosestNames(name: string, models: readonly Model[]): readonly string[] {
  const wanted = name.toLowerCase()
  let limit = Math.max(1, Math.floor(wanted.length / CHARACTERS_PER_ERROR))
  let closest = new Set<string>()
  for (const known of models.flatMap(({ id, aliases }) => [id, ...aliases])) {
    if (Math.abs(known.length - wanted.length) > limit) continue
    const distance = editDistance(wanted, known.toLowerCase())
    if (distance > limit) continue
    if (distance < limit) closest = new Set()
    limit = distance
    closest.add(known)
  }
  return [...closest].slice(0, MAX_HINTS)
}

/** The Levenshtein distance: how many characters must be inserted, removed or replaced. */
function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replaced = (previous[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min(replaced, (previous[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1))
    }
    previous = row
  }
  return previous[b.length] ?? 0
}
