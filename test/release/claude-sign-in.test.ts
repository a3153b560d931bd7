import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { signInDevice } from '../support/device-sign-in.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGateway } from '../support/gateway.ts'
import { newUser, type TestUser } from '../support/new-user.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'
import { requireCommandLine } from './clients/require-command-line.ts'

/** Runs Claude Code without a terminal, in a home of its own. Resolves with its exit code and output. */
function runClaude(program: string, home: string, args: readonly string[]) {
  const { PATH, LANG } = process.env
  const env = {
    ...{ PATH, LANG, HOME: home, CLAUDE_CODE_TMPDIR: home, DISABLE_AUTOUPDATER: '1' },
    CLAUDE_CODE_MAX_RETRIES: '1',
  }
  return new Promise<{ code: number; output: string }>((resolve) => {
    const child = execFile(
      program,
      [...args],
      { cwd: home, env, timeout: 100_000 },
      (error, stdout, stderr) =>
        resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: stdout + stderr }),
    )
    child.stdin?.end()
  })
}

describe('the program of Claude Code', function () {
  this.timeout(240_000)
  let gateway: RunningGateway
  let user: TestUser
  let home: string
  let program: string

  before(async function () {
    program = process.env.CLAUDE_PROGRAM ?? (await requireCommandLine(this)).claude
    home = await makeFolder()
    const file = path.join(home, 'policies.yaml')
    await writeFile(
      file,
      `policies:
  - match: {}
    cli:
      cleanupPeriodDays: 7
      env:
        CLAUDE_CODE_ENABLE_TELEMETRY: '1'
        OTEL_METRICS_EXPORTER: otlp
        OTEL_LOGS_EXPORTER: otlp
        OTEL_EXPORTER_OTLP_PROTOCOL: http/protobuf\n`,
    )
    gateway = await startGateway(
      await withSettings(`${UNLIMITED}identity: { claude_code: { enabled: true, settings: '${file}' } }\n`),
    )
    user = await newUser(gateway, 'paid', 'ann@example.com')
  })
  after(() => gateway?.stop())

  /** What `/login` leaves behind. */
  async function storeTokens(expiresInMs: number) {
    const { access_token, refresh_token } = await signInDevice(gateway, user.key)
    const content = {
      gatewayTrust: { '127.0.0.1': 'http-loopback' },
      enterpriseGateway: {
        url: gateway.url,
        jwt: access_token,
        expiresAt: Date.now() + expiresInMs,
        tokenEndpoint: `${gateway.url}/oauth/token`,
        idpRefreshToken: refresh_token,
      },
    }
    await mkdir(path.join(home, '.claude'), { recursive: true })
    await writeFile(credentials(), JSON.stringify(content), { mode: 0o600 })
    return { access_token, refresh_token }
  }
  const credentials = () => path.join(home, '.claude', '.credentials.json')

  it('works with its sign-in: inference, settings and telemetry', async () => {
    await storeTokens(3_600_000)
    const { code, output } = await runClaude(program, home, ['-p', 'Say hello', '--model', 'haiku'])
    expect([code, output]).to.satisfy(
      ([exit, text]: [number, string]) => exit === 0 && text.includes('hello'),
    )
    const { body } = await gateway.call('GET', `/admin/requests?user=${user.id}`, undefined, AS_ADMIN)
    expect(body.data.length).to.be.greaterThan(0)
    expect(body.data[0]).to.include({ endpoint: '/v1/messages', user_id: user.id, status: 200 })
    const cached = JSON.parse(await readFile(path.join(home, '.claude', 'remote-settings.json'), 'utf8'))
    expect(cached).to.include({ cleanupPeriodDays: 7 })
    const metrics = await (await fetch(`${gateway.url}/metrics`, { headers: AS_ADMIN })).text()
    expect(metrics).to.match(
      /signalbox_claude_code_exports_total\{signal="metrics",outcome="dropped"\} [1-9]/,
    )
  })

  it('renews its token, two processes at once as well', async () => {
    const before = await storeTokens(60_000)
    const runs = await Promise.all(
      [1, 2].map(() => runClaude(program, home, ['-p', 'Say hello', '--model', 'haiku'])),
    )
    for (const { code, output } of runs) expect(code, output).to.equal(0)
    const after = JSON.parse(await readFile(credentials(), 'utf8')).enterpriseGateway
    expect(after.jwt).not.to.equal(before.access_token)
    expect(after.idpRefreshToken).not.to.equal(before.refresh_token)
    const again = await runClaude(program, home, ['-p', 'Say hello', '--model', 'haiku'])
    expect(again.code, again.output).to.equal(0)
  })

  it('does not start any more once its key is revoked', async () => {
    await storeTokens(3_600_000)
    await user.revokeKey(user.keyId)
    const { code, output } = await runClaude(program, home, ['-p', 'Say hello', '--model', 'haiku'])
    expect(code, output).to.equal(1)
    expect(output).to.contain(gateway.url)
  })
})
