import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from 'signalbox'
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
