import { execFileSync } from 'node:child_process'
import { rm, statfs, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { makeFolder, type RunningGateway, runSignalbox, startGateway } from '../support/gateway.ts'
import { UNLIMITED, withSettings } from '../support/settings.ts'

/** The disk is a small file system of its own. */
describe('a gateway whose disk is full (skipped without the right to mount a file system)', () => {
  let disk: string
  let isMounted = false
  let gateway: RunningGateway

  before(async function () {
    disk = await makeFolder()
    try {
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=6m', 'tmpfs', disk], { stdio: 'ignore' })
      isMounted = true
    } catch {
      this.skip()
    }
    const settings = await withSettings(`${UNLIMITED}snapshots: { every_events: 5 }`)
    gateway = await startGateway(settings, { dataDir: disk })
  })

  after(async () => {
    await gateway?.stop()
    if (isMounted) execFileSync('umount', [disk])
  })

  const filler = () => path.join(disk, 'filler')

  /** Takes all the room that is left. */
  const fill = async () => {
    const { bavail, bsize } = await statfs(disk)
    // A snapshot that is being taken may be faster; then the disk is full, too.
    await writeFile(filler(), Buffer.alloc(bavail * bsize)).catch(({ code }) =>
      expect(code).to.equal('ENOSPC'),
    )
  }

  it('refuses changes with 507, serves everything else, and takes changes again when there is room', async () => {
    expect((await create('before')).status).to.equal(201)
    await fill()
    const refused = await createUntilRefused()
    expect(refused.status).to.equal(507)
    expect(refused.body.error.message).to.contain('no disk space left')
    const kept = await patterns()

    const body = { messages: [{ role: 'user', content: 'hello' }] }
    expect((await gateway.call('POST', '/v1/chat/completions', body)).status).to.equal(200)
    expect((await gateway.call('GET', '/readyz')).status).to.equal(200)
    expect((await create('x'.repeat(10_000))).status).to.equal(507)
    expect(await patterns()).to.deep.equal(kept)

    await rm(filler())
    expect((await create('after')).status).to.equal(201)
    expect(await patterns()).to.deep.equal([...kept, 'after'])
    const { code, stderr } = await runSignalbox(['log', 'verify'], { DATA_DIR: disk })
    expect(stderr).to.equal('')
    expect(code).to.equal(0)
  })

  it('goes on when it is killed while there is no room', async () => {
    const kept = await patterns()
    await fill()
    await createUntilRefused()
    const { demoKey } = gateway
    const seen = await patterns()
    await gateway.stop('SIGKILL')
    await rm(filler())
    gateway = await startGateway({}, { dataDir: disk, demoKey })

    expect(seen).to.include.members(kept)
    expect(await patterns()).to.deep.equal(seen)
    expect((await create('afterwards')).status).to.equal(201)
  })

  const create = (pattern: string) => {
    const rule = {
      name: 'a rule',
      is_enabled: true,
      scope: 'prompt',
      type: 'substring',
      action: 'warn',
      priority: 0,
    }
    return gateway.call('POST', '/v1/firewall-rules', { ...rule, pattern })
  }

  /** The log has taken some room in advance. */
  async function createUntilRefused() {
    for (let n = 0; ; n++) {
      const answer = await create(`filling ${n} ${'.'.repeat(900)}`)
      if (answer.status !== 201) return answer
    }
  }

  async function patterns(): Promise<string[]> {
    const { body } = await gateway.call('GET', '/v1/firewall-rules')
    return body.data.map(({ pattern }: { pattern: string }) => pattern)
  }
})
