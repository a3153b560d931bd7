import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import path from 'node:path'
import { expect } from 'chai'
import { load } from 'js-yaml'
import { toolRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { makeFolder } from '../support/folders.ts'
import { startGateway } from '../support/gateway.ts'
import { asAdmin, firewallRule, newPolicy, routingRule } from '../support/policies.ts'
import { ROOT } from '../support/root.ts'

const POLICY = { is_enabled: true, priority: 0, applies_to: { everyone: true } }

describe('signalbox rules test', () => {
  let folder: string
  before(async () => {
    folder = await makeFolder()
  })
  const write = async (name: string, content: unknown) => {
    const file = path.join(folder, name)
    await writeFile(file, typeof content === 'string' ? content : JSON.stringify(content))
    return file
  }
  const run = async (cases: unknown, rules: unknown, environment: Record<string, string> = {}) => {
    const operands = [await write('cases.yaml', cases), '--rules', await write('rules.yaml', rules)]
    return runCommand(['rules', 'test', ...operands], {
      DATA_DIR: path.join(folder, 'none'),
      LOG_LEVEL: 'fatal',
      ...environment,
    })
  }
  /** The examples of the documentation by the name in their first line. */
  const readExamples = async () => {
    const pages = ['docs/guides/gitops.md', 'docs/guides/rule-tests.md']
    const texts = await Promise.all(pages.map((page) => readFile(new URL(page, ROOT), 'utf8')))
    const blocks = [...texts.join('\n').matchAll(/```yaml\n# (\S+)\n([\s\S]*?)```/g)]
    return new Map(blocks.map(([, name = '', text = '']) => [name, text]))
  }

  it('runs beside a gateway that serves its metrics on a port', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const cases = { cases: [{ name: 'Any', prompt: 'Hello', expect: { outcome: 'allowed' } }] }
    const { code, stderr } = await run(cases, {}, { METRICS_PORT: `${port}` })
    expect([code, stderr]).to.deep.equal([0, ''])
    server.close()
  })

  it('passes the examples of the documentation, whose rules can be applied', async () => {
    const examples = await readExamples()
    const rules = examples.get('rules.yaml') ?? ''
    const { code, stdout, stderr } = await run(examples.get('cases.yaml'), rules)
    expect({ code, stdout, stderr }).to.deep.equal({ code: 0, stdout: '5 cases passed.\n', stderr: '' })
    const cheapest = rules.replace('set_mode: cost', 'set_mode: quality')
    const failed = await run(examples.get('cases.yaml'), cheapest)
    expect([failed.code, failed.stderr]).to.deep.equal([1, '2 of 5 cases failed.\n'])
    expect(failed.stdout.split('\n')[1]).to.equal(
      'Support is served by cheap models         mode   cost      quality',
    )
    expect(load(examples.get('.github/workflows/rules.yml') ?? '')).to.have.property('jobs')

    const gateway = await startGateway()
    for (const name of ['Ada', 'Grace'])
      await asAdmin(gateway, 'POST', '/admin/users', { name, plan: 'paid' })
    const applied = await asAdmin(gateway, 'POST', '/admin/rules/file/apply', { file: load(rules) })
    expect(applied.status, JSON.stringify(applied.body)).to.equal(200)
    await gateway.stop()
  })

  it('tests a file that was exported, with the ids of another gateway', async () => {
    const gateway = await startGateway()
    const same = { name: 'Same name' }
    const firewall = [firewallRule(same), firewallRule({ ...same, pattern: 'hidden', action: 'mask' })]
    await newPolicy(gateway, { name: 'Ids', firewall, routing: [routingRule({ set_model: 'gpt-6-luna' })] })
    const { body } = await asAdmin(gateway, 'GET', '/admin/rules/file')
    await gateway.stop()
    const cases = [
      {
        name: 'a',
        prompt: 'a secret',
        expect: { blocked_by: 'Same name', policy: 'Ids', error: 'firewall_blocked' },
      },
      {
        name: 'b',
        prompt: 'a hidden text',
        expect: { lacks: 'hidden', contains: '[redacted]', warnings: [] },
      },
      { name: 'c', request: { input: 'hello' }, expect: { provider: 'openai', model: 'gpt-6-luna' } },
    ]
    const { code, stdout, stderr } = await run({ cases }, body.data)
    expect([code, stdout, stderr]).to.deep.equal([0, '3 cases passed.\n', ''])
  })

  it('tests calls of tools, without a server', async () => {
    const deny = {
      name: 'No mail',
      priority: 1,
      match: { tool: 'send', after_reading: ['web'] },
      action: 'deny',
    }
    const wait = { name: 'Ask', priority: 1, match: { tool: 'delete_*' }, action: 'require_approval' }
    const rules = {
      policies: [
        {
          ...{ ...POLICY, name: 'Agents', tool_rules: [toolRuleBody(deny), toolRuleBody(wait)] },
          firewall_rules: [
            firewallRule({ name: 'Block', scope: 'tool_call' }),
            firewallRule({ name: 'Mask', scope: 'tool_call', pattern: 'hidden', action: 'mask' }),
          ],
        },
      ],
    }
    const send = { server: 'mail', tool: 'send' }
    const passing = [
      { name: 'a', call: send, expect: { verdict: 'allowed', outcome: 'allowed' } },
      {
        name: 'b',
        call: { ...send, read: ['web'] },
        expect: { verdict: 'denied', rule: 'No mail', policy: 'Agents', error: 'tool_denied' },
      },
      {
        name: 'c',
        call: { server: 'files', tool: 'delete_file', arguments: { path: 'a hidden place' } },
        expect: {
          verdict: 'pending_approval',
          rule: 'Ask',
          lacks: 'hidden',
          contains: ' place',
          applied: 'Mask',
        },
      },
      {
        name: 'd',
        call: { ...send, arguments: { text: 'a secret' } },
        expect: { verdict: 'blocked', blocked_by: 'Block', policy: 'Agents', error: 'firewall_blocked' },
      },
    ]
    const passed = await run({ cases: passing }, rules)
    expect([passed.code, passed.stdout, passed.stderr]).to.deep.equal([0, '4 cases passed.\n', ''])
    const failing = [
      { name: 'verdict', call: send, expect: { verdict: 'denied' } },
      { name: 'rule', call: { ...send, read: ['web'] }, expect: { rule: 'Ask' } },
      { name: 'both', call: send, prompt: 'x', expect: { verdict: 'allowed' } },
    ]
    const failed = await run({ cases: failing }, rules)
    expect([failed.code, failed.stderr]).to.deep.equal([1, '3 of 3 cases failed.\n'])
    const lines = failed.stdout.trimEnd().split('\n').slice(1)
    expect(lines.map((line) => line.split(/ {2,}/))).to.deep.equal([
      ['verdict', 'verdict', 'denied', 'allowed'],
      ['rule', 'rule', 'Ask', 'No mail'],
      ['both', 'case', 'valid', 'Give either call, or prompt or request.'],
    ])
    const unnamed = await run(
      { cases: [{ name: 'a', call: { server: 'mail' }, expect: { rule: 'x' } }] },
      rules,
    )
    expect([unnamed.code, unnamed.stderr]).to.satisfy(
      ([code, text]: [number, string]) => code === 1 && text.includes('tool'),
    )
  })

  it('fails for what is not as expected, also when a request is refused', async () => {
    const rules = {
      policies: [{ ...POLICY, name: 'P', firewall_rules: [firewallRule({ name: 'Secrets' })] }],
    }
    const cases = [
      { name: 'refused', prompt: 'a secret', expect: { lacks: 'secret' } },
      { name: 'allowed', prompt: 'harmless', expect: { outcome: 'refused', blocked_by: 'Secrets' } },
      { name: 'unknown', user: 'Nobody', prompt: 'harmless', expect: { outcome: 'allowed' } },
      { name: 'malformed', request: { messages: 'no' }, expect: { outcome: 'allowed' } },
    ]
    const { code, stdout, stderr } = await run({ cases }, rules)
    expect([code, stderr]).to.deep.equal([1, '4 of 4 cases failed.\n'])
    const lines = stdout.trimEnd().split('\n')
    expect(lines.slice(1).map((line) => line.split(/ {2,}/).slice(0, 3))).to.deep.equal([
      ['refused', 'lacks', 'a request that is sent'],
      ['allowed', 'outcome', 'refused'],
      ['allowed', 'blocked_by', 'Secrets'],
      ['unknown', 'case', 'valid'],
      ['malformed', 'case', 'valid'],
    ])
  })

  it('reports the issues of both files with their lines', async () => {
    const cases = 'cases:\n  - name: x\n    prompt: y\n    expect: { outcom: allowed }\n'
    const misspelt = await run(cases, { policies: [] })
    expect([
      misspelt.code,
      misspelt.stderr.match(/cases\.yaml:\d+: cases\[0\]\.expect/)?.length,
    ]).to.deep.equal([1, 1])
    const rules = { policies: [{ ...POLICY, name: 'P', routing_rules: [{ name: 'R' }] }] }
    const invalid = await run(cases.replace('outcom:', 'outcome:'), rules)
    expect(invalid.code).to.equal(1)
    expect(invalid.stderr).to.contain(
      'rules.yaml:1: policies[0].routing_rules[0].is_enabled: The is_enabled field is required.',
    )
  })
})
