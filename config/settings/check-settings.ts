import { isJsonObject, type JsonObject } from '../../core/contract/index.ts'
import { findNetworkIssue } from '../../core/http/client-address.ts'
import { findOriginIssue } from '../../core/http/cors.ts'

/**
 * Finds issues that the schema of the settings cannot express. Values of the wrong type are left to the
 * schema.
 */
export function findSettingsIssues({ trusted_proxies, cors }: JsonObject): readonly string[] {
  const origins = isJsonObject(cors) ? cors.origins : undefined
  return [
    ...findItemIssues('trusted_proxies', trusted_proxies, findNetworkIssue),
    ...findItemIssues('cors.origins', origins, findOriginIssue),
  ]
}

function findItemIssues(
  setting: string,
  items: unknown,
  findIssue: (item: string) => string | undefined,
): readonly string[] {
  if (!Array.isArray(items)) return []
  return items.flatMap((item, index) => {
    const issue = typeof item === 'string' ? findIssue(item) : undefined
    return issue === undefined ? [] : [`${setting}[${index}] ${issue}`]
  })
}
