import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { expect } from 'chai'
import { captureOutput } from '../support/captured-output.ts'
import { runCommand } from '../support/command.ts'
import { makeFolder } from '../support/folders.ts'
import { createClient, TEST_ENVIRONMENT } from '../support/gateway.ts'
import { spawnSignalbox } from '../support/gateway-process.ts'
import { connectClient } from '../support/mcp/gateway.ts'

describe('the gateway of "signalbox demo"', () => {
  it('leaves the folder empty if one of its ports is in use', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const DATA_DIR = await makeFolder()
    for (const variable of ['PORT', 'ROUTE_PORT', 'METRICS_PORT']) {
      const environment = { ...TEST_ENVIRONMENT, DATA_DIR, [variable]: `${port}` }
      const { code, stderr } = await runCommand(['demo', '--days', '1'], environment)
      expect(code).to.equal(1)
      expect(stderr).to.contain(`127.0.0.1:${port} is already in use.`).and.to.contain(`set ${variable} to`)
    }
    other.close()
    expect(await readdir(DATA_DIR)).to.deep.equal([])
  })

  it('serves on the sandbox, and prints where to sign in', async () => {
    const child = spawnSignalbox(['demo', '--days', '1'], {
      ...TEST_ENVIRONMENT,
      ...{
        DATA_DIR: await makeFolder(),
        LOG_LEVEL: 'error',
        ANTHROPIC_API_KEY: 'a key that must not be used',
      },
    })
    const output = captureOutput()
    child.stderr.setEncoding('utf8').on('data', output.write)
    const exited = once(child, 'close')
    const [line] = await once(createInterface(child.stdout), 'line')
    const { base_url: url } = JSON.parse(line)
    await output.contains('with this DATA_DIR')
    expect(output.text()).to.contain(`${url}/console/`).and.to.contain('the sandbox at')
    const keyOf = (who: string) => output.text().match(new RegExp(`key of ${who}: +(\\S+)`))?.[1] ?? ''

    const { call } = createClient(url, keyOf('a user'))
    const body = { model: 'auto:cost', messages: [{ role: 'user', content: 'hello' }] }
    const answer = await call('POST', '/v1/chat/completions', body)
    expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    expect(answer.body.choices[0].message.content).to.contain('sandbox')
    const asOperator = { authorization: `Bearer ${keyOf('an operator')}` }
    expect(
      (await call('GET', '/admin/overview?range=24h', undefined, asOperator)).body.data.totals.requests,
    ).above(20)

    const { data: servers } = (await call('GET', '/admin/tool-servers', undefined, asOperator)).body
    const [{ id }] = servers
    const refreshed = await call('POST', `/admin/tool-servers/${id}/refresh`, {}, asOperator)
    expect(refreshed.body.data, JSON.stringify(refreshed.body)).to.include({ listed: 5 })
    expect(refreshed.body.data).to.deep.include({ new: [], changed: [], removed: [] })
    const { client } = await connectClient({ url, demoKey: keyOf('a user') }, '/mcp', 'session')
    const { tools } = await client.listTools()
    const names = tools.map(({ name }) => name)
    expect(names).to.include.members(['repository__read_file', 'tickets__add_comment', 'web__fetch_page'])
    expect(names).not.to.include('web__summarize_page')
    const read = { path: 'README.md', ref: 'main' }
    const result = await client.callTool({ name: 'repository__read_file', arguments: read })
    expect(JSON.stringify(result.content)).to.contain('demo')
    await client.close()

    const waiting = (await call('GET', '/admin/approvals?status=pending', undefined, asOperator)).body.data
    const shown = await call('GET', `/admin/approvals/${waiting[0].id}`, undefined, asOperator)
    expect(shown.body.data.arguments).to.deep.equal({ number: 1466 })
    child.kill('SIGTERM')
    expect(await exited).to.deep.equal([0, null])
  })
})
