import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { CONTRACT_VERSION, GatewayError } from 'signalbox'
import plugin from './index.js'

const { decide } = plugin.setup({ max_messages: 2 })

const exchangeOf = (...texts) => ({
  request: { messages: texts.map((content) => ({ role: 'user', content })) },
})

test('accepts a request with few messages', () => {
  decide(exchangeOf('Hello', 'Which track?'))
})

test('rejects a request with too many messages', () => {
  assert.throws(
    () => decide(exchangeOf('Hello', 'Which track?', 'Nine')),
    (error) => GatewayError.isInstance(error) && error.message.includes('at most 2 messages, not 3'),
  )
})

test('is written for the contract of the installed gateway', () => {
  assert.equal(plugin.contract, CONTRACT_VERSION)
})

test('is accepted by the installed gateway, with its options and its place in the list', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'plugin-'))
  try {
    const CONFIG = path.join(folder, 'settings.yaml')
    const use = fileURLToPath(new URL('index.js', import.meta.url))
    const added = { use, before: 'firewall', options: { max_messages: 50 } }
    writeFileSync(CONFIG, JSON.stringify({ plugins: { add: [added] } }))
    const output = execFileSync(process.execPath, [findGateway(), 'config', 'check'], {
      encoding: 'utf8',
      env: { ...process.env, CONFIG },
    })
    assert.match(output, /The settings and plugins are valid\./)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** The program of the installed package `signalbox`. */
function findGateway() {
  const manifest = fileURLToPath(import.meta.resolve('signalbox/package.json'))
  return path.join(path.dirname(manifest), JSON.parse(readFileSync(manifest, 'utf8')).bin.signalbox)
}
