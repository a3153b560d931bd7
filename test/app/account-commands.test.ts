import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { runCommand } from '../support/command.ts'
import { createLogFolder } from '../support/data-folder.ts'
import { makeFolder } from '../support/folders.ts'
import { ADMIN_KEY, type RunningGateway, startGateway } from '../support/gateway.ts'
import { asAdmin } from '../support/policies.ts'

type Environment = Record<string, string>

/** Returns the output of a command that must succeed. */
async function run(environment: Environment, ...args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await runCommand(args, environment)
  expect({ code, stderr }, args.join(' ')).to.deep.equal({ code: 0, stderr: '' })
  return stdout
}

const runJson = async (environment: Environment, ...args: readonly string[]) =>
  JSON.parse(await run(environment, ...args))

const linesOf = (table: string) =>
  table
    .trimEnd()
    .split('\n')
    .map((line) => line.split(/ {2,}/))

describe('commands for users, keys, operators and budgets', () => {
  let gateway: RunningGateway
  let folder: string
  let environment: Environment
  let user: { readonly id: number; readonly key_id: string; readonly key: string }
  before(async () => {
    gateway = await startGateway()
    folder = await makeFolder()
    environment = { SIGNALBOX_URL: gateway.url, SIGNALBOX_KEY: ADMIN_KEY, XDG_CONFIG_HOME: folder }
    user = await runJson(environment, 'users', 'add', '--name', 'Ada', '--plan', 'free')
  })
  after(() => gateway.stop())

  it('list users as a table and as JSON, without secrets', async () => {
    const table = await run(environment, 'users', 'list')
    const [head, ...rows] = linesOf(table)
    expect(head).to.deep.equal(['ID', 'NAME', 'PLAN', 'GROUPS', 'KEYS', 'CREATED'])
    const row = rows.find(([id]) => id === String(user.id))
    expect(row?.slice(0, 5)).to.deep.equal([String(user.id), 'Ada', 'free', '-', '1'])
    const listed = await runJson(environment, 'users', 'list', '--json')
    expect(listed.find(({ id }: { id: number }) => id === user.id)).to.include({
      name: 'Ada',
      plan: 'free',
    })
    expect(table + JSON.stringify(listed)).not.to.contain(user.key)
  })

  it('issue, list, rotate and revoke keys', async () => {
    const id = String(user.id)
    const key = await runJson(environment, 'keys', 'add', id, '--name', 'Batch', '--reason', 'A job')
    expect(key.key).to.match(/^tr_/)
    const rotated = await runJson(environment, 'keys', 'rotate', key.id, '--overlap', '3600')
    expect(rotated.id).not.to.equal(key.id)
    const list = async (...more: readonly string[]) =>
      (await runJson(environment, 'keys', 'list', id, '--json', ...more)).map((key: { id: string }) => key.id)
    expect(await list()).to.have.members([user.key_id, key.id, rotated.id])
    await run(environment, 'keys', 'revoke', key.id)
    expect(await list()).to.have.members([user.key_id, rotated.id])
    expect(await list('--all')).to.have.members([user.key_id, key.id, rotated.id])
    const [head, ...rows] = linesOf(await run(environment, 'keys', 'list', '--all'))
    const columns = ['ID', 'USER', 'NAME', 'STATE', 'LAST USED', 'EXPIRES', 'ONLY FOR', 'CREATED']
    expect(head).to.deep.equal(columns)
    const row = rows.find(([each]) => each === key.id)
    expect(row?.slice(0, 4)).to.deep.equal([key.id, `Ada (${id})`, 'Batch', 'revoked'])
  })

  it('create, list and remove operators, whose keys are shown once', async () => {
    const given = ['--name', 'Grace', '--role', 'auditor', '--expires', '2099-12-31T00:00:00Z']
    const { id, key } = await runJson(environment, 'operators', 'add', ...given)
    const rotated = await runJson(environment, 'operators', 'rotate', id)
    expect(rotated.key).to.match(/^op_/).and.not.equal(key)
    const table = await run(environment, 'operators', 'list')
    const row = linesOf(table).find(([each]) => each === id)
    expect(row).to.deep.equal([id, 'Grace', 'auditor', 'everything', '2099-12-31 00:00', '-'])
    expect(table).not.to.contain(key).and.not.contain(rotated.key)
    await run(environment, 'operators', 'remove', id)
    expect(await run(environment, 'operators', 'list')).not.to.contain(id)
  })

  it('set, list and remove budgets, with what is left', async () => {
    const owner = `user:${user.id}`
    await run(environment, 'budgets', 'set', owner, '--limit', '20', '--on-exceed', 'downgrade')
    await run(environment, 'budgets', 'set', 'all', '--limit', '500.5', '--period', 'day')
    const rows = linesOf(await run(environment, 'budgets', 'list'))
    expect(rows.slice(0, 2)).to.deep.equal([
      ['OWNER', 'NAME', 'LIMIT', 'PERIOD', 'SPENT', 'LEFT', 'WHEN SPENT'],
      ['all', '-', '$500.5', 'day', '$0.00', '$500.50', 'refuse'],
    ])
    expect(rows).to.deep.include([owner, 'Ada', '$20', 'month', '$0.00', '$20.00', 'downgrade'])
    await run(environment, 'budgets', 'remove', owner)
    await run(environment, 'budgets', 'remove', 'all')
    expect(await run(environment, 'budgets', 'list')).to.equal(
      'There is no budget: see "signalbox budgets set".\n',
    )
  })

  it('say in a line what is refused', async () => {
    const refused = async (...args: readonly string[]) => {
      const { code, stdout, stderr } = await runCommand(args, environment)
      expect({ code, stdout }, stderr).to.deep.equal({ code: 1, stdout: '' })
      return stderr
    }
    expect(await refused('keys', 'add', '987654')).to.equal('User 987654 was not found.\n')
    expect(await refused('keys', 'revoke', 'key_x/../users')).to.match(/^Key .+ was not found\.\n$/)
    expect(await refused('keys', 'add', String(user.id), '--expires', 'soon')).to.match(
      /^expires_at must be an ISO 8601 time .+\n$/,
    )
    expect(await refused('operators', 'add', '--name', 'Eve', '--role', 'admin', '--groups', '99')).to.match(
      /group 99 was not found\.\n$/,
    )
  })

  it('work on a data folder, with the reason in the audit trail', async () => {
    const environment = { DATA_DIR: await createLogFolder(), LOG_LEVEL: 'fatal' }
    const given = ['--name', 'Grace', '--role', 'editor', '--reason', 'On call']
    const { id } = await runJson(environment, 'operators', 'add', ...given)
    const name = 'Ada\u001b[2J\u202e'
    const user = await runJson(environment, 'users', 'add', '--name', name, '--plan', 'free')
    await run(environment, 'budgets', 'set', `user:${user.id}`, '--limit', '20')
    const events = (await run(environment, 'log', 'export')).trimEnd().split('\n')
    const created = events.map((line) => JSON.parse(line)).find(({ type }) => type === 'OperatorCreated')
    expect(created.data).to.include({ operatorId: id, name: 'Grace', role: 'editor' })
    const actor = { type: 'cli', id: 'cli', name: 'cli' }
    expect(created.metadata).to.deep.include({ actor, reason: 'On call' })
    // The name would move the cursor.
    const shown = 'Ada\\u{1b}[2J\\u{202e}'
    const [budget] = linesOf(await run(environment, 'budgets', 'list')).slice(1)
    expect(budget).to.deep.equal([`user:${user.id}`, shown, '$20', 'month', '$0.00', '$20.00', 'refuse'])
    const [key] = linesOf(await run(environment, 'keys', 'list', String(user.id))).slice(1)
    expect(key?.slice(0, 2)).to.deep.equal([user.key_id, `${shown} (${user.id})`])
    const { code, stderr } = await runCommand(['keys', 'add', '987654'], environment)
    expect({ code, stderr }).to.deep.equal({ code: 1, stderr: 'User 987654 was not found.\n' })
  })

  it('read the key of an operator from a file', async () => {
    const file = path.join(folder, 'key')
    await writeFile(file, `${ADMIN_KEY}\n`)
    const target = ['--url', gateway.url, '--key-file', file]
    const user = await runJson({}, 'users', 'add', '--name', 'Mary', '--plan', 'paid', ...target)
    const { body } = await asAdmin(gateway, 'GET', `/admin/users/${user.id}`)
    expect(body.data).to.include({ name: 'Mary', plan: 'paid' })
  })
})
