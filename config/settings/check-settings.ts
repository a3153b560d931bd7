import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { findNetworkIssue } from '../../core/http/client-address.ts'
import { findOriginIssue } from '../../core/http/cors.ts'

/** Faults that the schema of the settings cannot express. What is of the wrong type is the schema's to tell. */
export function findFaults({ trusted_proxies, cors }: JsonObject): readonly string[] {
  const origins = isJsonObject(cors) ? cors.origins : undefined
  return [
    ...inList('trusted_proxies', trusted_proxies, findNetworkIssue),
    ...inList('cors.origins', origins, findOriginIssue),
  ]
}

function inList(
  name: string,
  list: unknown,
  findFault: (text: string) => string | undefined,
): readonly string[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((text, place) => {
    const fault = typeof text === 'string' ? findFault(text) : undefined
    return fault === undefined ? [] : [`${name}[${place}] ${fault}`]
  })
}
