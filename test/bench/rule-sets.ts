/**
 * Creates `count` routing rules and `count` firewall rules that match nothing, and ten that match and warn.
 */
export async function makeRules(url: string, key: string, count: number): Promise<void> {
  const create = (kind: string, data: object) => ({
    kind,
    op: 'create',
    data: { is_enabled: true, priority: 0, ...data },
  })
  const operations = [
    ...Array.from({ length: count }, (_, n) => [
      create('routing', {
        name: `route ${n}`,
        match_json: { contains: [`topic number ${n}`, `subject ${n}`] },
        action_json: { set_mode: 'cost' },
      }),
      create('firewall', {
        name: `wall ${n}`,
        scope: 'prompt',
        type: n % 2 === 0 ? 'regex' : 'substring',
        pattern: n % 2 === 0 ? `\\bsecret[-_ ]?${n}\\b` : `classified ${n}`,
        action: 'block',
      }),
    ]).flat(),
    ...Array.from({ length: 5 }, (_, n) => [
      create('routing', {
        name: `note ${n}`,
        match_json: { contains: 'lorem' },
        action_json: { add_warning: `note ${n}` },
      }),
      create('firewall', {
        name: `warn ${n}`,
        scope: 'prompt',
        type: 'substring',
        pattern: 'ipsum',
        action: 'warn',
      }),
    ]).flat(),
  ]
  for (let from = 0; from < operations.length; from += 1000) {
    const response = await fetch(`${url}/v1/rules/batch`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` },
      body: JSON.stringify({ operations: operations.slice(from, from + 1000) }),
    })
    if (!response.ok) throw new Error(await response.text())
  }
}
