import HTTP
import Testing

struct HTTPDateTests {
    @Test(arguments: [
        (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
        (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
        (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"), (951_868_800, "Wed, 01 Mar 2000 00:00:00 GMT"),
        (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"), (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
        (1_709_251_199, "Thu, 29 Feb 2024 23:59:59 GMT"), (1_735_689_599, "Tue, 31 Dec 2024 23:59:59 GMT"),
        (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"), (Int.max, "Fri, 31 Dec 9999 23:59:59 GMT"),
        (-1, "Thu, 01 Jan 1970 00:00:00 GMT"),
        (Int.min, "Thu, 01 Jan 1970 00:00:00 GMT"),
    ])
    func dates(seconds: Int, date: String) {
        let buffer = ByteBuffer()
        HTTPDate.append(unixSeconds: seconds, to: buffer)
        #expect(text(buffer) == date)
        #expect(buffer.count == 29)
    }

    @Test func everyDayFollowsTheOneBefore() {
        let lengths = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
        let names = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let weekdays = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
        var days = 0
        let buffer = ByteBuffer()
        for year in 1970...2101 {
            let isLeap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
            for month in 0..<12 {
                for day in 1...(lengths[month] + (month == 1 && isLeap ? 1 : 0)) {
                    buffer.clear()
                    HTTPDate.append(unixSeconds: days * 86400, to: buffer)
                    #expect(
                        text(buffer)
                            == "\(weekdays[days % 7]), \(day < 10 ? "0" : "")\(day) \(names[month]) \(year) 00:00:00 GMT")
                    days += 1
                }
            }
        }
    }

    @Test func theCacheFollowsTheClock() {
        var cache = DateCache()
        let buffer = ByteBuffer()
        for second in [784_111_777, 784_111_777, 784_111_778, 784_111_777] { cache.append(unixSeconds: second, to: buffer) }
        let first = "Sun, 06 Nov 1994 08:49:37 GMT"
        #expect(text(buffer) == first + first + "Sun, 06 Nov 1994 08:49:38 GMT" + first)
    }
}
