const RECORDS_PER_PACKET = 32
const TEXT_RECORDS = 100

/**
 * A stream of OpenAI as its service sends it now, with an empty usage and padding in every record, as HTTP
 * chunks of many records each.
 */
export function buildBurst(): readonly Buffer[] {
  const envelope = {
    id: 'chatcmpl-CYqKfTgVgW0xwTCyZ0pVnHqNxfUuS',
    object: 'chat.completion.chunk',
    created: 1_795_000_000,
    model: 'gpt-4o-2024-08-06',
    service_tier: 'default',
    system_fingerprint: 'fp_cbf1785567',
  }
  let size = 0
  const write = (delta: object, finish_reason: string | null = null) => {
    // Each record is padded to a length that does not tell that of its text.
    const obfuscation = 'aZ3kQ9xL2mP7'.slice(size++ % 11)
    const choices = [{ index: 0, delta, logprobs: null, finish_reason }]
    return `data: ${JSON.stringify({ ...envelope, choices, usage: null, obfuscation })}\n\n`
  }
  const usage = { prompt_tokens: 90, completion_tokens: 100, total_tokens: 190 }
  const records = [
    write({ role: 'assistant', content: '', refusal: null }),
    ...Array.from({ length: TEXT_RECORDS }, (_, index) => write({ content: TEXTS[index % TEXTS.length] })),
    write({}, 'stop'),
    `data: ${JSON.stringify({ ...envelope, choices: [], usage, obfuscation: 'x' })}\n\n`,
    'data: [DONE]\n\n',
  ]
  const packets: Buffer[] = []
  for (let start = 0; start < records.length; start += RECORDS_PER_PACKET) {
    const packet = records.slice(start, start + RECORDS_PER_PACKET).join('')
    packets.push(Buffer.from(`${Buffer.byteLength(packet).toString(16)}\r\n${packet}\r\n`))
  }
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
  return [
    Buffer.concat([Buffer.from(head), ...packets.slice(0, 1)]),
    ...packets.slice(1),
    Buffer.from('0\r\n\r\n'),
  ]
}

const TEXTS = [' This', ' is', ' the', ' sandbox', ',', ' and', ' it', ' said', ' "', 'No', '."', '\n']
