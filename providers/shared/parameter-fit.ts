import { LRUCache } from 'lru-cache'
import type { ChatRequest } from '../../core/contract/chat.ts'
import { GatewayError } from '../../core/contract/errors.ts'
import type { Model } from '../../core/contract/provider.ts'
import { limitRequest } from './catalog.ts'
import { outputLimitOf } from './deviations.ts'
import type { Provider } from './providers.ts'
import { reduceParameters } from './reduce-parameters.ts'

/** How well a model fits the parameters of a request. */
export interface ParameterFit {
  /** What the model would not get as it was sent: 1 for a changed parameter, 2 for an omitted one. */
  readonly deviations: number
  /** The parameter for which the adapter refuses the request, if it does. */
  readonly refused?: string
}

const PERFECT_FIT: ParameterFit = { deviations: 0 }

/** Requests with different parameters of which the results are kept. */
const MAX_KEPT = 1000

/**
 * Returns a function that tells how well models fit the parameters of a request. The adapters themselves tell
 * it: each builds a request with the same parameters and a short message. Results are kept by the parameters,
 * so that most requests cost one look-up per model. See docs/decisions/routing.md, "The adapters say which
 * models honour a request".
 */
export function createParameterFit(
  findProvider: (id: string) => Provider | undefined,
): (request: ChatRequest) => (model: Model) => ParameterFit {
  const kept = new LRUCache<string, Map<Model, ParameterFit>>({ max: MAX_KEPT })

  function measure(request: ChatRequest, entry: Model): ParameterFit {
    const provider = findProvider(entry.provider)
    if (provider === undefined) return PERFECT_FIT
    try {
      const { request: limited, omitted } = limitRequest(request, provider.capabilities)
      const target = { provider: entry.provider, model: entry.id, entry }
      const found = provider.client.findDeviations(limited, target)
      return { deviations: 2 * (omitted.length + found.omitted.length) + found.changed.length }
    } catch (error) {
      // An adapter of a plugin that fails here fails again, and is reported, when the request is sent.
      if (!GatewayError.isInstance(error)) return PERFECT_FIT
      const { param = error.code } = error.details
      return { deviations: 0, refused: param.startsWith('messages') ? 'messages' : param }
    }
  }

  function fitParameters(reduced: ChatRequest | undefined): (model: Model) => ParameterFit {
    if (reduced === undefined) return () => PERFECT_FIT
    const key = JSON.stringify(reduced)
    let fits = kept.get(key)
    if (fits === undefined) {
      fits = new Map()
      kept.set(key, fits)
    }
    return (model) => {
      let fit = fits.get(model)
      if (fit === undefined) {
        fit = measure(reduced, model)
        fits.set(model, fit)
      }
      return fit
    }
  }

  return (request) => {
    const fitOf = fitParameters(reduceParameters(request))
    const { limit } = outputLimitOf(request)
    if (limit === undefined) return fitOf
    return (model) => {
      const fit = fitOf(model)
      return limit > model.max_output ? { ...fit, deviations: fit.deviations + 1 } : fit
    }
  }
}
