interface Operation {
  readonly 'x-operator-role'?: string
  readonly 'x-operator-scope'?: string
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
}

/** Writes the table of docs/guides/operators.md: the endpoints by role and by what a scope leaves of them. */
export function writeRoleMatrix({ paths }: Document): string {
  const cells = new Map<string, Map<string, string[]>>()
  for (const [path, operations] of Object.entries(paths))
    for (const [method, operation] of Object.entries(operations)) {
      const { 'x-operator-role': role, 'x-operator-scope': scope } = operation
      if (role === undefined || scope === undefined) continue
      const row = cells.get(`${scope} ${role}`) ?? new Map<string, string[]>()
      row.set(path, [...(row.get(path) ?? []), method.toUpperCase()])
      cells.set(`${scope} ${role}`, row)
    }
  const rows = SCOPES.flatMap((scope) =>
    ROLES.flatMap((role) => {
      const row = cells.get(`${scope} ${role}`)
      if (row === undefined) return []
      const endpoints = [...row].map(([path, methods]) => `\`${methods.join(', ')} ${path}\``)
      return [`| ${scope} | \`${role}\` | ${endpoints.join(', ')} |\n`]
    }),
  )
  return `| with a scope | role | endpoints |\n| --- | --- | --- |\n${rows.join('')}`
}

const SCOPES = ['filtered', 'whole', 'refused']
const ROLES = ['auditor', 'editor', 'admin']
