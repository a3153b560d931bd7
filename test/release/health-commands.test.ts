import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import path from 'node:path'
import { expect } from 'chai'
import { makeFolder } from '../support/folders.ts'
import { ADMIN_KEY } from '../support/gateway.ts'
import { type GatewayProcess, runSignalbox, startGatewayProcess } from '../support/gateway-process.ts'

const FREE_PORTS = { PORT: '0', ROUTE_PORT: '0' }

/** Runs "doctor", and returns its findings by the name of the check. */
async function diagnose(environment: Record<string, string>) {
  const { code, stdout, stderr } = await runSignalbox(['doctor', '--json'], environment)
  const findings: readonly { check: string; status: string; message: string }[] = JSON.parse(stdout)
  return { code, stderr, findings: new Map(findings.map((finding) => [finding.check, finding])) }
}

describe('signalbox status and doctor', () => {
  let gateway: GatewayProcess
  let folder: string
  before(async () => {
    gateway = await startGatewayProcess()
    folder = await makeFolder()
  })
  after(() => gateway.stop())

  it('show the health of a gateway that runs', async () => {
    const environment = { SIGNALBOX_URL: gateway.url, SIGNALBOX_KEY: ADMIN_KEY, XDG_CONFIG_HOME: folder }
    const { code, stdout, stderr } = await runSignalbox(['status'], environment)
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect(stdout).to.match(
      /^gateway +http:\S+, ready\nversion +\d+\.\d+\.\d+\nevent log +following, position \d+\n/,
    )
    expect(stdout).to.match(/^approvals +0 pending$/m)
    expect(stdout).to.match(/^warning +No provider has a key/m)
    const shown = JSON.parse((await runSignalbox(['status', '--json'], environment)).stdout)
    expect(shown).to.deep.include({ url: gateway.url, is_ready: true, pending_approvals: 0 })
    expect(shown.event_log.position).to.be.greaterThan(0)
  })

  it('tell those without a key only whether the gateway is ready', async () => {
    const environment = { SIGNALBOX_URL: gateway.url, XDG_CONFIG_HOME: folder }
    const { code, stdout } = await runSignalbox(['status'], environment)
    expect(code).to.equal(0)
    expect(stdout).to.match(/^gateway +http:\S+, ready\nnot shown +You are not signed in to .+\n$/)
  })

  it('find the gateway of the settings, with its ADMIN_KEY', async () => {
    const { port } = new URL(gateway.url)
    const environment = { HOST: '127.0.0.1', PORT: port, ADMIN_KEY, XDG_CONFIG_HOME: folder }
    const { code, stdout } = await runSignalbox(['status'], environment)
    expect(code).to.equal(0)
    expect(stdout).to.match(/^version /m)
  })

  it('fail in a line if nothing serves at the address', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    server.close()
    await once(server, 'close')
    const { code, stdout, stderr } = await runSignalbox(['status', '--url', `http://127.0.0.1:${port}`])
    expect({ code, stdout }).to.deep.equal({ code: 1, stdout: '' })
    expect(stderr).to.match(/^http:\/\/127\.0\.0\.1:\d+ cannot be reached: .+\n$/)
  })

  it('find nothing wrong beside a gateway that runs', async () => {
    const { port } = new URL(gateway.url)
    const environment = { DATA_DIR: gateway.dataDir, HOST: '127.0.0.1', PORT: port, ROUTE_PORT: '0' }
    const { code, stderr, findings } = await diagnose(environment)
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: '' })
    expect([...findings.keys()]).to.deep.equal([
      ...['node', 'settings', 'data folder', 'event log', 'clock', 'providers', 'ports', 'memory'],
    ])
    expect(findings.get('event log')?.message).to.match(/No issues found\.$/)
    expect(findings.get('ports')?.message).to.contain('a gateway runs at')
    expect(findings.get('providers')).to.include({ status: 'warning' })
  })

  it('name what is wrong, and exit with 1', async () => {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const environment = {
      ...FREE_PORTS,
      DATA_DIR: folder,
      HOST: '127.0.0.1',
      PORT: `${port}`,
      OPENAI_API_KEY: 'sk-x',
    }
    const { code, stderr, findings } = await diagnose(environment)
    server.close()
    expect({ code, stderr }).to.deep.equal({ code: 1, stderr: '1 of 8 checks failed.\n' })
    expect(findings.get('ports')?.message).to.contain(`127.0.0.1:${port} (EADDRINUSE)`)
    expect(findings.get('event log')).to.include({ status: 'warning' })
    expect(findings.get('providers')?.message).to.match(/^openai: configured\./)

    const CONFIG = path.join(folder, 'settings.yaml')
    await writeFile(CONFIG, 'prot: 8080\n')
    const invalid = await diagnose({ ...FREE_PORTS, CONFIG })
    expect(invalid.code).to.equal(1)
    expect(invalid.findings.get('settings')).to.include({
      status: 'failed',
      message: 'unknown field "prot" (did you mean "port"?)',
    })
    expect(invalid.findings.get('ports')).to.include({ status: 'not checked' })
  })
})
