import { copyFile, readFile, rm, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { expect } from 'chai'
import { openLog } from '../../config/gateway/state.ts'
import { formatVerifierKey, parseVerifierKey } from '../../core/event-log/transparency/checkpoint.ts'
import { ensureLogId } from '../../core/events/log-events.ts'
import { routingRuleBody } from '../support/bodies.ts'
import { runCommand } from '../support/command.ts'
import { createLogFolder } from '../support/data-folder.ts'
import { makeFolder } from '../support/folders.ts'
import { AS_ADMIN, type RunningGateway, startGatewayOnFiles } from '../support/gateway.ts'
import { runPython, whyNoPython } from '../support/python.ts'
import { ROOT } from '../support/root.ts'
import { skip } from '../support/skip.ts'

const numberIfDigits = (text: string) => (/^\d+$/.test(text) ? Number(text) : text)

describe('evidence', () => {
  let gateway: RunningGateway
  let checkpoint: string

  const readCheckpoint = async () => {
    const response = await fetch(`${gateway.url}/admin/audit/checkpoint`, { headers: AS_ADMIN })
    return {
      status: response.status,
      type: response.headers.get('content-type'),
      text: await response.text(),
    }
  }
  const readProof = (position: number | string) =>
    gateway.call('GET', `/admin/audit/${position}/proof`, undefined, AS_ADMIN)
  const createRule = async (name: string) => {
    const { status, body } = await gateway.call('POST', '/v1/routing-rules', routingRuleBody({ name }))
    expect(status).to.equal(201)
    const { body: audit } = await gateway.call('GET', '/v1/audit?limit=1')
    return { id: body.data.id, position: audit.data[0].position }
  }
  const restart = async () => {
    const { dataDir, demoKey } = gateway
    await gateway.stop()
    gateway = await startGatewayOnFiles({}, { dataDir, demoKey })
  }
  const checkFile = async (text: string, ...options: readonly string[]) => {
    const file = path.join(await makeFolder(), 'proof.json')
    await writeFile(file, text)
    return runCommand(['proof', 'check', file, ...options])
  }

  /** The same key, as it would sign for another log. */
  const renamedKey = (text: string) => {
    const { publicKey = Buffer.alloc(0) } = parseVerifierKey(text) ?? {}
    return formatVerifierKey({ name: 'signalbox/log_other', publicKey })
  }

  before(async () => {
    gateway = await startGatewayOnFiles()
  })
  after(() => gateway.stop())

  it('has no checkpoint before the first one is signed', async () => {
    expect((await readCheckpoint()).status).to.equal(404)
    const { status, body } = await readProof(3)
    expect(status).to.equal(404)
    expect(body.error.message).to.contain('No checkpoint covers position 3 yet.')
  })

  it('has one after a stop, over all events', async () => {
    await createRule('first')
    const { position } = await createRule('second')
    await restart()

    const { status, type, text } = await readCheckpoint()
    expect(status).to.equal(200)
    expect(type).to.equal('text/plain; charset=utf-8')
    const [origin, size] = text.split('\n')
    expect(origin).to.match(/^signalbox\/log_/)
    expect(Number(size)).to.equal(position)
    checkpoint = text
  })

  it('lists the checkpoints of the log in pages, newest first, and finds the one over so many events', async () => {
    const list = async (query: string) => {
      const { status, body } = await gateway.call(
        'GET',
        `/admin/audit/checkpoints?${query}`,
        undefined,
        AS_ADMIN,
      )
      expect(status).to.equal(200)
      return body
    }
    const { data } = await list('')
    expect(data[0].note).to.equal(checkpoint)
    await createRule('between')
    await fetch(`${gateway.url}/admin/audit/checkpoint`, { method: 'POST', headers: AS_ADMIN })
    const first = await list('limit=1')
    expect(first.data[0].note).to.equal((await readCheckpoint()).text)
    const { size, root, position, key } = first.data[0]
    expect([size, root]).to.deep.equal(first.data[0].note.split('\n').slice(1, 3).map(numberIfDigits))
    expect(position).to.equal(size + 1)
    expect(key).to.match(/^signalbox\/log_/)
    const rest = await list(`limit=100&cursor=${first.next_cursor}`)
    expect([rest.data, rest.next_cursor]).to.deep.equal([data, null])
    expect((await list(`size=${data[0].size}`)).data).to.deep.equal([data[0]])
    expect((await list(`size=${data[0].size + 1}`)).data).to.deep.equal([])
    checkpoint = first.data[0].note
  })

  it('proves every event below it, offline', async () => {
    const { stdout: key } = await runCommand(['log', 'key'], { DATA_DIR: gateway.dataDir })
    const [origin, size] = checkpoint.split('\n')
    expect(key.startsWith(`${origin}+`)).to.equal(true)
    for (let position = 1; position <= Number(size); position++) {
      const { status, body } = await readProof(position)
      expect(status).to.equal(200)
      expect(body.data).to.deep.include({ position, index: position - 1, checkpoint, key: key.trim() })
      const { code, stdout } = await checkFile(JSON.stringify(body), '--key', key.trim())
      expect(code).to.equal(0)
      expect(stdout).to.contain(body.data.leaf)
    }
    const { body } = await readProof(Number(size))
    expect(JSON.parse(body.data.leaf)).to.have.nested.property('[3].content.name', 'between')
  })

  it('refuses a proof with any change', async () => {
    const { body } = await readProof(4)
    const { data } = body
    const other = await createLogFolder()
    await runCommand(['users', 'add', '--name', 'Eve', '--plan', 'free'], { DATA_DIR: other })
    const { stdout: otherKey } = await runCommand(['log', 'key'], { DATA_DIR: other })
    const changes = [
      { leaf: data.leaf.replace('demo', 'Demo').replace('key_', 'Key_') },
      { index: data.index + 1 },
      { hashes: data.hashes.slice(1) },
      { hashes: data.hashes.toReversed() },
      { checkpoint: data.checkpoint.replace(/\n(\d+)\n/, '\n1$1\n') },
      { key: otherKey.trim() },
      { key: 'key' },
      { hashes: ['AAAA', ...data.hashes.slice(1)] },
    ]
    expect((await checkFile(JSON.stringify(body))).code).to.equal(0)
    for (const change of changes) {
      const { code } = await checkFile(JSON.stringify({ data: { ...data, ...change } }))
      expect(code, JSON.stringify(change)).to.equal(1)
    }
    expect((await checkFile(JSON.stringify(body), '--key', otherKey.trim())).code).to.equal(1)
    const ofOther = await checkFile(JSON.stringify(body), '--key', renamedKey(data.key))
    expect(ofOther.code).to.equal(1)
    expect(ofOther.stderr).to.contain('and the key is that of signalbox/log_other.')
    expect((await checkFile('{}')).code).to.equal(1)
    expect((await checkFile(JSON.stringify(body), '--key', 'key')).code).to.equal(2)
  })

  it('is checked by the script in the documentation', async function () {
    const reason = whyNoPython(['cryptography'])
    if (reason !== undefined) skip(this, reason)
    const folder = await makeFolder()
    const [script, file] = [path.join(folder, 'check.py'), path.join(folder, 'proof.json')]
    const page = await readFile(new URL('docs/guides/auditors.md', ROOT), 'utf8')
    const [, code = ''] = /```python\n(.*?)```/s.exec(page) ?? []
    await writeFile(script, code)
    const check = async (proof: object, key: string) => {
      await writeFile(file, JSON.stringify({ data: proof }))
      return runPython(script, [file, key])
    }

    const { data } = (await readProof(5)).body
    expect(await check(data, data.key)).to.deep.include({ code: 0, stdout: `valid: ${data.leaf}\n` })
    expect((await check({ ...data, leaf: `${data.leaf} ` }, data.key)).stderr).to.contain('not in the tree')
    const forged = data.checkpoint.replace(/.(?=.{20}\n$)/, (last: string) => (last === 'A' ? 'B' : 'A'))
    expect((await check({ ...data, checkpoint: forged }, data.key)).code).to.equal(1)
    expect((await check(data, data.key.replace(/\+[0-9a-f]{8}\+/, '+00000000+'))).stderr).to.contain(
      'another key',
    )
  })

  it('is for operators', async () => {
    for (const path of ['/admin/audit/checkpoint', '/admin/audit/3/proof'])
      expect((await gateway.call('GET', path)).status).to.equal(401)
    expect((await readProof('03')).status).to.equal(404)
    expect((await readProof(999)).status).to.equal(404)
  })

  it('is not signed again without changes, and covers changes after the next stop', async () => {
    // The refused calls of the test before are an event.
    await restart()
    checkpoint = (await readCheckpoint()).text
    await restart()
    expect((await readCheckpoint()).text).to.equal(checkpoint)

    const { position } = await createRule('third')
    expect((await readProof(position)).body.error.message).to.contain('No checkpoint covers position')
    await restart()
    expect((await readCheckpoint()).text).not.to.equal(checkpoint)
    expect((await readProof(position)).status).to.equal(200)
  })
})

describe('verifying a log that was replaced by another one', () => {
  it('finds it, even if the new one has no checkpoints', async () => {
    const { dataDir, stop } = await startGatewayOnFiles()
    await stop()
    const settings = { data_dir: await makeFolder(), eventstore_url: null }
    const other = await openLog(settings)
    const id = await ensureLogId(other, '2026-01-01T00:00:00.000Z')
    await other.close()
    expect(await runCommand(['log', 'verify'], { DATA_DIR: settings.data_dir })).to.include({ code: 0 })

    const database = path.join(dataDir, 'events.db')
    await copyFile(path.join(settings.data_dir, 'events.db'), database)
    for (const suffix of ['-wal', '-shm']) await rm(database + suffix, { force: true })
    // Snapshots would tell as well.
    await rm(path.join(dataDir, 'snapshots'), { recursive: true, force: true })
    const { code, stderr } = await runCommand(['log', 'verify'], { DATA_DIR: dataDir })
    expect(code).to.equal(1)
    expect(stderr).to.contain(`The event log has the id ${id}, but the data folder belongs to the log log_`)
  })
})
