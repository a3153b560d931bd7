import { expect } from 'chai'
import { checkReturnTo, publicUrlOf } from '../../../../plugins/identity/public-url.ts'

describe('the address of the gateway for browsers', () => {
  it('is that of the settings, whatever the client says', () => {
    const url = 'https://gateway.example.com/signalbox/'
    const headers = { host: 'evil.example', 'x-forwarded-host': 'evil.example' }
    expect(publicUrlOf({ url }, headers)).to.equal('https://gateway.example.com/signalbox')
  })

  it('is otherwise a name of this machine', () => {
    for (const host of ['localhost:8080', '127.0.0.1:8080', '[::1]:8080', 'localhost'])
      expect(publicUrlOf({}, { host })).to.equal(`http://${host}`)
    for (const host of [
      ...['evil.example', 'localhost.evil.example', '127.0.0.1.evil.example', 'localhost:8080@evil.example'],
      ...[
        'localhost/x',
        'evil.example/localhost',
        'localhost:',
        '127.0.0.2',
        '',
        'localhost:8080,evil.example',
      ],
    ])
      expect(() => publicUrlOf({}, { host }), host).to.throw('identity.console.url')
    expect(() => publicUrlOf({}, {})).to.throw('identity.console.url')
  })
})

describe('the page that a sign-in returns to', () => {
  it('is a page of the console', () => {
    for (const page of ['/console/', '/console/#/policies?id=7', '/console/device?code=A-B#x'])
      expect(checkReturnTo(page)).to.equal(page)
    expect(checkReturnTo('/console/a/../#/x')).to.equal('/console/#/x')
  })

  it('is never anything else', () => {
    for (const page of [
      ...['https://evil.example/console/', '//evil.example/console/', '/\\evil.example', '/console/\\..\\..'],
      ...['/console/../admin', '/console/%2e%2e/admin', '/console/../../evil', '/console', '', 'console/'],
      ...['/console/\n', '/console/ x', '/v1/models', 'javascript:alert(1)', '/console/é'],
      ...['/console/login', '/console/logout?x=1', '/console/callback?code=1', '/console/x/../logout'],
    ])
      expect(() => checkReturnTo(page), page).to.throw('return_to')
  })
})
