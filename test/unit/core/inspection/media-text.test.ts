import { expect } from 'chai'
import fc from 'fast-check'
import { parseDataUrl } from '../../../../core/inspection/data-url.ts'
import { isBinaryMedia, rewriteMedia } from '../../../../core/inspection/media-text.ts'
import { inRounds } from '../../../support/property.ts'

const HEAD = 'data:text/plain;base64,'
const base64 = (bytes: Buffer | string) => Buffer.from(bytes as string).toString('base64')
const mask = (text: string) => text.replaceAll('secret', '[x]').replaceAll('Größe', '[y]')
const maskFile = (bytes: Buffer) =>
  Buffer.from(rewriteMedia(HEAD + base64(bytes), mask).slice(HEAD.length), 'base64')

describe('masking a text file', () => {
  it('keeps every other byte of a file in Latin-1', () => {
    for (const word of ['secret', 'Größe']) {
      const file = Buffer.from(`Zürich: ${word}, schön\xff`, 'latin1')
      const masked = word === 'secret' ? '[x]' : '[y]'
      expect(maskFile(file).toString('latin1')).to.equal(`Zürich: ${masked}, schön\xff`)
    }
  })

  it('encodes it as UTF-8 if its readings have different matches', () => {
    const file = Buffer.from('Zürich: secret, Größe', 'latin1')
    expect(maskFile(file).toString()).to.equal('Zürich: [x], [y]')
  })

  it('keeps the encoding and the mark of a file in UTF-16', () => {
    const file = Buffer.from('\ufeffZürich: secret, 日本', 'utf16le')
    expect(maskFile(file).toString('utf16le')).to.equal('\ufeffZürich: [x], 日本')
    expect(maskFile(Buffer.from(file).swap16()).swap16().toString('utf16le')).to.equal(
      '\ufeffZürich: [x], 日本',
    )
    expect(maskFile(file.subarray(2)).toString('utf16le')).to.equal('Zürich: [x], 日本')
  })

  it('leaves no match in any reading of a file that has several', () => {
    // In UTF-16 one word is a match, in UTF-8 another.
    const file = Buffer.concat([
      Buffer.from('\ufeffsecret', 'utf16le'),
      Buffer.from(' Größe!', 'utf8'),
      Buffer.from(' secret!', 'utf8'),
    ])
    const masked = maskFile(file)
    for (const encoding of ['utf8', 'latin1', 'utf16le'] as const) {
      const text = masked.toString(encoding).replaceAll('\0', '')
      expect(text, encoding).not.to.contain('secret').and.not.to.contain('Größe')
    }
  })

  it('leaves no match in any reading of random files and URLs', () => {
    const pieces = [
      ...['secret', 'Größe', ' hello ', '\0', 'BM'].map((text) => Buffer.from(text)),
      ...[Buffer.from('Größe', 'latin1'), Buffer.from('secret Größe', 'utf16le')],
      ...[Buffer.from('secret', 'utf16le').swap16(), Buffer.from([0xff, 0xfe]), Buffer.from([0xfe, 0xff])],
    ]
    const file = fc
      .tuple(fc.array(fc.constantFrom(...pieces), { minLength: 1, maxLength: 5 }), fc.nat(255))
      .map(([parts, last]) => Buffer.concat([...parts, Buffer.from([last])]))
    const type = fc.constantFrom('text/plain', 'application/octet-stream', '', 'application/pdf', 'a/b')
    const encoding = fc.constantFrom(
      (bytes: Buffer) => `;base64,${base64(bytes)}`,
      (bytes: Buffer) => `;base64,${base64(bytes).replace(/^(..)/, '$1=')}`,
      (bytes: Buffer) => `;base64,${base64(bytes).replace('c', '%63')}`,
      (bytes: Buffer) => `;base64,${base64(bytes).replace(/[\da-f]{2}/i, '%$&')}`,
      (bytes: Buffer) => `;base64,${base64(bytes).replace(/^(.)(..)/, '$1-$2_')}`,
      (bytes: Buffer) => `,${bytes.toString('hex').replace(/../g, '%$&')}`,
    )
    const url = fc.tuple(type, encoding, file).map(([type, encode, bytes]) => `data:${type}${encode(bytes)}`)
    let masked = 0
    const isMasked = (url: string) => {
      const result = rewriteMedia(url, mask)
      masked += result === url ? 0 : 1
      for (const reading of readingsOf(result)) expect(mask(reading)).to.equal(reading)
    }
    fc.assert(fc.property(url, isMasked), inRounds(1000))
    expect(masked).to.be.above(500)
  })

  it('returns a file without a match unchanged', () => {
    for (const bytes of [
      Buffer.from('hello'),
      Buffer.from('hell\xf6', 'latin1'),
      Buffer.from([0xff, 0xfe, 1]),
    ])
      expect(rewriteMedia(HEAD + base64(bytes), mask)).to.equal(HEAD + base64(bytes))
  })
})

/** What decoders make of a `data:` URL. */
function readingsOf(url: string): readonly string[] {
  const data = url.slice(url.indexOf(',') + 1)
  const decoded = Buffer.from(
    data.replace(/%([\da-f]{2})/gi, (_, digits) => String.fromCharCode(Number.parseInt(digits, 16))),
    'latin1',
  )
  const text = decoded.toString('latin1')
  const toBytes = (part: string) => Buffer.from(part, 'base64')
  const files = url.includes(';base64,')
    ? [
        ...[toBytes(text), toBytes(text.replaceAll('=', '')), Buffer.concat(text.split('=').map(toBytes))],
        ...[toBytes(data), toBytes(data.replace(/[%_-]/g, ''))],
      ]
    : [decoded]
  return files.flatMap((bytes) => {
    const swapped = Buffer.from(bytes.subarray(0, bytes.length & ~1)).swap16()
    const readings = [bytes.toString(), bytes.toString('latin1'), bytes.toString('utf16le')]
    return [...readings, swapped.toString('utf16le')].flatMap((each) => [each, each.replaceAll('\0', '')])
  })
}

describe('binary media', () => {
  const bytes = (start: string) => Buffer.concat([Buffer.from(start, 'latin1'), Buffer.alloc(120, 7)])
  const FILES = {
    'image/png': '\x89PNG',
    'image/jpeg': '\xff\xd8\xff',
    'image/bmp': 'BM\x01\x02\x03\x04\0\0\0\0',
    'application/pdf': '%PDF-1.7',
    'application/zip': 'PK\x03\x04',
    'application/gzip': '\x1f\x8b\x08',
    'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'PK\x03\x04',
    'application/octet-stream': 'OggS',
    'audio/mpeg': '\xff\xfb',
    'video/mp4': '\0\0\0\x18ftyp',
  }

  for (const [mediaType, start] of Object.entries(FILES)) {
    it(`is exempt: ${mediaType}`, () => {
      expect(isBinaryMedia(`data:${mediaType};base64,${base64(bytes(start))}`)).to.equal(true)
      expect(isBinaryMedia(base64(bytes(start)))).to.equal(true)
      expect(isBinaryMedia(base64(bytes(start)).replace(/.{76}/g, '$&\r\n'))).to.equal(true)
    })
  }

  it('is not a file whose type is that of a text, however it begins', () => {
    for (const mediaType of ['text/plain', 'application/json', 'image/svg+xml', 'application/x-yaml', 'a/b'])
      expect(isBinaryMedia(`data:${mediaType};base64,${base64(bytes('PK\x03\x04'))}`), mediaType).to.equal(
        false,
      )
  })
})

describe('data URLs', () => {
  const decode = (url: string) => {
    const { mediaType, base64: data } = parseDataUrl(url) ?? { mediaType: 'none', base64: '' }
    return [mediaType, Buffer.from(data, 'base64').toString('latin1')]
  }

  it('are decoded as browsers decode them', () => {
    expect(decode('data:text/plain;base64,aGk=')).to.deep.equal(['text/plain', 'hi'])
    expect(decode(' DATA:Text/Plain; base64,aGk%3D')).to.deep.equal(['text/plain', 'hi'])
    expect(decode('data:text/plain;base64,%61Gk=')).to.deep.equal(['text/plain', 'hi'])
    expect(decode('data:,h%69%ff%4')).to.deep.equal(['', 'hi\xff%4'])
    expect(decode('data:,ü')).to.deep.equal(['', '\xc3\xbc'])
    expect(decode('data without a comma')).to.deep.equal(['none', ''])
    expect(decode('a data:,text')).to.deep.equal(['none', ''])
  })
})
