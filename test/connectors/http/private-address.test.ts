import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isLoopback, isPublicAddress } from '../../../src/connectors/http/network/private-address.ts'

describe('an address of the public internet', () => {
  test.each([
    '1.1.1.1',
    '8.8.8.8',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.167.255.255',
    '192.169.0.0',
    '223.255.255.255',
    '2606:4700:4700::1111',
    '2a00:1450:4001:82b::200e',
    '64:ff9b::808:808',
    '::ffff:8.8.8.8',
  ])('is %s', (address) => {
    expect(isPublicAddress(address)).toBe(true)
  })

  test.each([
    ['the machine itself', '127.0.0.1'],
    ['the machine itself', '127.255.255.254'],
    ['the machine itself', '::1'],
    ['no address', '::'],
    ['no address', '0.0.0.0'],
    ['a private network', '10.1.2.3'],
    ['a private network', '172.16.0.1'],
    ['a private network', '172.31.255.255'],
    ['a private network', '192.168.1.1'],
    ['a provider network', '100.64.0.1'],
    ['a cloud answering with credentials', '169.254.169.254'],
    ['a cloud answering with credentials', 'fd00:ec2::254'],
    ['a cloud answering with credentials', '100.100.100.200'],
    ['a cloud answering with credentials', '168.63.129.16'],
    ['a private network', 'fc00::1'],
    ['a link', 'fe80::1'],
    ['a link', 'fe80::1%eth0'],
    ['a site', 'fec0::1'],
    ['a group', '224.0.0.1'],
    ['a group', 'ff02::1'],
    ['everybody', '255.255.255.255'],
    ['the future', '240.0.0.1'],
    ['documentation', '192.0.2.1'],
    ['documentation', '198.51.100.7'],
    ['documentation', '203.0.113.7'],
    ['documentation', '2001:db8::1'],
    ['documentation', '3fff::1'],
    ['measurements', '198.19.0.1'],
    ['a tunnel', '2002:7f00:1::'],
    ['a tunnel', '2001:0:7f00:1::'],
    ['IPv4 in another spelling', '::ffff:127.0.0.1'],
    ['IPv4 in another spelling', '::FFFF:7F00:0001'],
    ['IPv4 in another spelling', '0:0:0:0:0:ffff:a9fe:a9fe'],
    ['IPv4 in an old spelling', '::127.0.0.1'],
    ['IPv4 behind a translator', '64:ff9b::7f00:1'],
    ['IPv4 behind a translator', '64:ff9b::10.0.0.1'],
    ['IPv4 behind a translator', '64:ff9b::'],
    ['IPv4 behind a local translator', '64:ff9b:1::808:808'],
    ['no address at all', 'localhost'],
    ['no address at all', '127.1'],
    ['no address at all', ''],
  ])('is not %s (%s)', (_case, address) => {
    expect(isPublicAddress(address)).toBe(false)
  })

  test('is the same however IPv4 is wrapped', () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const expected = isPublicAddress(address)

        expect(isPublicAddress(`::ffff:${address}`)).toBe(expected)
        expect(isPublicAddress(`64:ff9b::${address}`)).toBe(expected)
      }),
    )
  })
})

test.each([
  ['127.0.0.1', true],
  ['127.9.9.9', true],
  ['::1', true],
  ['0:0:0:0:0:0:0:1', true],
  ['::ffff:127.0.0.1', true],
  ['128.0.0.1', false],
  ['10.0.0.1', false],
  ['::', false],
  ['localhost', false],
])('%s is this machine: %s', (address, expected) => {
  expect(isLoopback(address)).toBe(expected)
})
