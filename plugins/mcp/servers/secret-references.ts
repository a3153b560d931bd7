import { resolve, sep } from 'node:path'
import { invalidParameterError } from '../../../core/http/parse-call.ts'
import type { McpSettings } from '../settings.ts'

/** The secrets that the settings of tool servers may refer to. */
export interface SecretReferences {
  /** Throws 400 unless the text refers to a secret that is allowed. `param` names the field. */
  check(reference: string, param: string): void
}

const DEFAULT_VARIABLES = ['MCP_*']

/**
 * Operators choose where a secret is sent to. So they can only use the variables and files that the settings
 * mean for this, and not read others of the machine. See docs/decisions/tools.md, "Secrets by reference".
 */
export function createSecretReferences({
  secret_variables: variables = DEFAULT_VARIABLES,
  secret_folder: folder,
}: Pick<McpSettings, 'secret_variables' | 'secret_folder'>): SecretReferences {
  const patterns = variables.map((glob) => new RegExp(`^${glob.replaceAll('*', '.*')}$`))

  /** The reference is not repeated: it may be the secret itself. */
  function findIssue(reference: string): string | undefined {
    const [, kind, name = ''] = /^(env|file):(.*)$/s.exec(reference) ?? []
    if (kind === undefined)
      return 'must be env:NAME or file:PATH. It says where the secret is, and is not the secret itself'
    if (kind === 'env') {
      if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return 'must name an environment variable behind env:'
      if (patterns.some((pattern) => pattern.test(name))) return undefined
      return `must name a variable that mcp.secret_variables allows (${variables.join(', ')})`
    }
    if (folder === undefined) return 'cannot name a file: the setting mcp.secret_folder allows none'
    const isInside = resolve(folder, name).startsWith(resolve(folder) + sep)
    return isInside ? undefined : 'must name a file in mcp.secret_folder'
  }

  return {
    check(reference, param) {
      const issue = findIssue(reference)
      if (issue !== undefined) throw invalidParameterError(param, `${param} ${issue}.`)
    },
  }
}
